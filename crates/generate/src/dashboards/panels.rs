//! The dashboards as data: for managers, for the on-call engineer, and for a close look at nodes.

mod debug;
mod executive;
mod on_call;

/// One dashboard.
pub(super) struct Dashboard {
    /// Name of its file.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) description: &'static str,
    /// Begin of the time that it shows.
    pub(super) from: &'static str,
    pub(super) variables: &'static [Variable],
    pub(super) panels: &'static [Panel],
}

/// A choice at the top of a dashboard: values of a label.
pub(super) struct Variable {
    pub(super) label: &'static str,
    pub(super) title: &'static str,
    /// A series that has the label.
    pub(super) series: &'static str,
}

/// One panel.
pub(super) struct Panel {
    pub(super) title: &'static str,
    /// What it shows and from where, in one or two sentences.
    pub(super) description: &'static str,
    pub(super) draw: Draw,
    /// Unit in Grafana's words.
    pub(super) unit: &'static str,
    /// Query and name of its lines.
    pub(super) queries: &'static [(&'static str, &'static str)],
}

/// How a panel is drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Draw {
    /// One number.
    Number,
    /// Lines over time.
    Lines,
    /// Lines over time that add up.
    Stacked,
    /// Bars, the longest first.
    Bars,
    /// A table of labels and values.
    Table,
}

impl Draw {
    /// Grafana's name of it.
    pub(super) const fn kind(self) -> &'static str {
        match self {
            Self::Number => "stat",
            Self::Lines | Self::Stacked => "timeseries",
            Self::Bars => "bargauge",
            Self::Table => "table",
        }
    }

    /// Columns and rows of the grid.
    pub(super) const fn size(self) -> (u32, u32) {
        match self {
            Self::Number => (6, 4),
            Self::Lines | Self::Stacked | Self::Bars => (12, 8),
            Self::Table => (24, 8),
        }
    }

    pub(super) fn options(self) -> serde_json::Value {
        use serde_json::json;
        let last = json!({ "calcs": ["lastNotNull"], "fields": "", "values": false });
        match self {
            Self::Number => json!({ "reduceOptions": last, "colorMode": "none", "graphMode": "none" }),
            Self::Lines | Self::Stacked => {
                json!({ "legend": { "displayMode": "list", "placement": "bottom", "showLegend": true }, "tooltip": { "mode": "multi", "sort": "desc" } })
            }
            Self::Bars => json!({ "reduceOptions": last, "orientation": "horizontal", "displayMode": "basic" }),
            Self::Table => json!({ "showHeader": true, "cellHeight": "sm" }),
        }
    }
}

const fn panel(
    title: &'static str,
    draw: Draw,
    unit: &'static str,
    queries: &'static [(&'static str, &'static str)],
    description: &'static str,
) -> Panel {
    Panel { title, description, draw, unit, queries }
}

/// All dashboards.
pub(super) const DASHBOARDS: &[Dashboard] = &[
    Dashboard {
        name: "executive",
        title: "executive",
        description: "Use of the fleet, success of jobs, capacity out of service and inventory. Rules: gpu-rules.yaml.",
        from: "now-7d",
        variables: &[],
        panels: executive::PANELS,
    },
    Dashboard {
        name: "on-call",
        title: "on-call",
        description: "What is wrong now: incidents, nodes, queues, and the nodes that stand out.",
        from: "now-6h",
        variables: &[],
        panels: on_call::PANELS,
    },
    Dashboard {
        name: "debug",
        title: "debug",
        description: "Every GPU of the chosen nodes: load, memory, heat, power, links, errors, and the agent itself.",
        from: "now-3h",
        variables: &[Variable { label: "node", title: "Node", series: "mainstay_agent_info" }],
        panels: debug::PANELS,
    },
];
