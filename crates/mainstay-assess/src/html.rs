//! The report as one self-contained HTML document: no script, no external resources, light and dark. Charts are drawn
//! in `html/chart.rs`; every text from a log or a ticket is escaped.

mod chart;
mod style;

use mainstay_text::{counted, duration, escape_html, gpu_hours, percent, thousands};

use super::cluster::{ClusterSection, against};
use super::report::{Finding, PartLine, Reaction, Report, Review, TicketLine};
use super::text::{day, minute, sentence, tickets, would};
use super::unrecognised::UnrecognisedSection;

/// Rows of the tables; the JSON has all of them.
const FINDINGS_MAX: usize = 60;
const PARTS_MAX: usize = 40;
const TICKETS_MAX: usize = 20;
const LEMONS_MAX: usize = 25;
const TEMPLATES_MAX: usize = 40;

pub(super) fn page(report: &Report) -> String {
    let window = format!("{} to {}", day(&report.window.from), day(&report.window.to));
    let mut body = String::new();
    body.push_str(&format!(
        "<header><p class=\"quiet\">Mainstay assessment · {window} · {} · {}</p><h1>What Mainstay would have done</h1>\
         <p class=\"lead\">{}</p></header>\n",
        counted(report.fleet.nodes, "node", "nodes"),
        counted(report.fleet.gpus, "GPU", "GPUs"),
        escape_html(&sentence(report)),
    ));
    figures(report, &mut body);
    if !report.findings.is_empty() {
        section(
            &mut body,
            "Faults",
            "Findings by week. Each finding is a node that a rule flagged for removal from service.",
            |body| {
                body.push_str(&chart::weeks(report));
                body.push_str(&chart::stake(report));
            },
        );
        lemons(report, &mut body);
        section(&mut body, "Reaction time", "Time from Mainstay's decision to the first ticket or reboot.", |body| {
            body.push_str(&chart::delays(report));
        });
    }
    if let Some(seen) = &report.cluster {
        cluster(seen, &mut body);
    }
    if let Some(review) = &report.tickets {
        ticket_section(review, &mut body);
    }
    findings(report, &mut body);
    parts(report, &mut body);
    unrecognised(report, &mut body);
    read(report, &mut body);
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, \
         initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<title>Mainstay assessment, {window}</title>\n\
         <style>{}</style></head>\n<body><main>\n{body}</main></body></html>\n",
        style::CSS
    )
}

fn section(body: &mut String, title: &str, about: &str, inside: impl FnOnce(&mut String)) {
    body.push_str(&format!("<section><h2>{}</h2><p class=\"quiet\">{}</p>\n", escape_html(title), escape_html(about)));
    inside(body);
    body.push_str("</section>\n");
}

fn figures(report: &Report, body: &mut String) {
    let acted = report.findings.iter().filter(|finding| finding.would_act_at.is_some()).count();
    let unseen = report.findings.iter().filter(|finding| finding.reaction == Reaction::Missing).count();
    let number = |length: usize| thousands(u64::try_from(length).unwrap_or(0));
    let reacted = if report.stake.reacted == 0 { "–".to_owned() } else { duration(report.stake.reacted_p50_seconds) };
    body.push_str("<div class=\"figures\">");
    for (figure, words) in [
        (number(acted), "removals from service that Mainstay would have made"),
        (gpu_hours(report.stake.gpu_seconds), "GPU-hours that faulty nodes kept running"),
        (reacted, "median time to a ticket or reboot"),
        (number(unseen), "findings without a ticket or reboot within a day"),
        (number(report.lemons.len()), "lemons: nodes that fail far more often than the others"),
    ] {
        body.push_str(&format!("<div><b>{}</b><span>{words}</span></div>", escape_html(&figure)));
    }
    body.push_str("</div>\n");
}

fn lemons(report: &Report, body: &mut String) {
    if report.lemons.is_empty() {
        return;
    }
    let intro = "Nodes that fail far more often than the others. Each dot is a finding. The line starts when Mainstay would \
                 have flagged the node.";
    section(body, "Lemons", intro, |body| {
        body.push_str(&chart::lemons(report, LEMONS_MAX));
        let rows = report.lemons.iter().take(LEMONS_MAX).map(|lemon| {
            vec![
                code(&lemon.node),
                right(&thousands(lemon.findings)),
                right(&gpu_hours(lemon.gpu_seconds_at_stake)),
                right(&format!("{} %", percent(lemon.risk_ppm.into(), 1_000_000, 0))),
                cell(&day(&lemon.named_at)),
                words(&lemon.because),
            ]
        });
        let header = ["Node", ">Findings", ">GPU-hours exposed", ">7-day risk", "Flagged", "Reason"];
        table(body, &header, rows, report.lemons.len());
    });
}

fn unrecognised(report: &Report, body: &mut String) {
    let UnrecognisedSection { templates, .. } = &report.unrecognised;
    if templates.is_empty() {
        return;
    }
    let intro = "Error lines of drivers and services that no parser knows, by template: # is a number, an address or an id, * is a \
                 name. A FleetPolicy can turn a template into a rule by its code.";
    section(body, "Unrecognised lines", intro, |body| {
        let rows = templates.iter().take(TEMPLATES_MAX).map(|line| {
            vec![
                code(&line.code),
                cell(line.component.name()),
                right(&thousands(line.nodes)),
                right(&thousands(line.lines)),
                words(&line.template),
            ]
        });
        table(body, &["Code", "Component", ">Nodes", ">Lines", "Template"], rows, templates.len());
    });
}

fn cluster(seen: &ClusterSection, body: &mut String) {
    let intro = format!(
        "{} and {} as of {}. {}",
        counted(seen.nodes, "node with GPUs", "nodes with GPUs"),
        counted(seen.pods, "pod", "pods"),
        minute(&seen.at),
        seen.cannot_show.join(" ")
    );
    section(body, "Cluster now", &intro, |body| {
        let rows = seen.suspects.iter().map(|line| {
            let offered = line.gpus_offered.map_or_else(|| "unknown".to_owned(), |offered| offered.to_string());
            let against = against(line, seen.now).join("; ");
            vec![code(&line.node), right(&format!("{offered} of {}", line.gpus)), words(&against)]
        });
        table(body, &["Node", "GPUs allocatable", "Problems"], rows, seen.suspects.len());
    });
}

fn ticket_section(review: &Review, body: &mut String) {
    section(body, "Tickets compared with findings", &tickets(review), |body| {
        let begins = |ticket: &TicketLine| {
            vec![cell(&minute(&ticket.opened_at)), code(&ticket.id), code(&ticket.node), words(&ticket.cause)]
        };
        let list = &review.different_cause;
        if !list.is_empty() {
            body.push_str(&format!("<h3>Different cause <span class=\"quiet\">{}</span></h3>", list.len()));
            let rows = list.iter().take(TICKETS_MAX).map(|ticket| {
                let shown: Vec<&str> = ticket.shown.iter().map(|kind| kind.word()).collect();
                let id = ticket.finding.as_deref().unwrap_or_default();
                let more = [cell(&shown.join(", ")), format!("<td><a href=\"#{id}\">{id}</a></td>")];
                begins(ticket).into_iter().chain(more).collect()
            });
            table(body, &["Opened", "Ticket", "Node", "Cause in the ticket", "Evidence", "Finding"], rows, list.len());
        }
        let list = &review.without_finding;
        if !list.is_empty() {
            body.push_str(&format!(
                "<h3>Tickets without a finding <span class=\"quiet\">{}: the logs have no evidence that calls for removal\
                 </span></h3>",
                list.len()
            ));
            table(
                body,
                &["Opened", "Ticket", "Node", "Cause in the ticket"],
                list.iter().take(TICKETS_MAX).map(begins),
                list.len(),
            );
        }
        if !review.finding_without_ticket.is_empty() {
            let ids: Vec<String> = review
                .finding_without_ticket
                .iter()
                .take(FINDINGS_MAX)
                .map(|id| format!("<a href=\"#{id}\">{id}</a>"))
                .collect();
            body.push_str(&format!(
                "<h3>Findings without a ticket <span class=\"quiet\">{}</span></h3><p class=\"ids\">{}</p>",
                review.finding_without_ticket.len(),
                ids.join(" ")
            ));
        }
    });
}

fn findings(report: &Report, body: &mut String) {
    if report.findings.is_empty() {
        return;
    }
    section(body, "Findings", "Faults and the action Mainstay would have taken, latest first.", |body| {
        let row = |finding: &Finding| {
            let reaction = match finding.reaction {
                Reaction::Ticket => "ticket",
                Reaction::Boot => "reboot",
                Reaction::Missing => "none",
                Reaction::Open => "open",
            };
            let stake = finding.gpu_seconds_at_stake;
            vec![
                format!("<td id=\"{}\">{}</td>", escape_html(&finding.id), escape_html(&finding.id)),
                cell(&minute(&finding.found_at)),
                code(&finding.node),
                code(&finding.part.words()),
                cell(&finding.rule),
                words(&would(finding)),
                cell(reaction),
                right(&gpu_hours(stake)),
            ]
        };
        let header = ["", "Found", "Node", "Part", "Rule", "Mainstay would", "Reaction", ">GPU-hours exposed"];
        // Findings that a ticket refers to are always in the table.
        let pointed =
            |finding: &&Finding| report.tickets.as_ref().is_some_and(|review| is_pointed_at(review, &finding.id));
        let late = report.findings.iter().rev().enumerate();
        let rows =
            late.filter(|(place, finding)| *place < FINDINGS_MAX || pointed(finding)).map(|(_, finding)| row(finding));
        table(body, &header, rows, report.findings.len());
    });
}

fn is_pointed_at(review: &Review, id: &str) -> bool {
    let disagree = review.different_cause.iter().take(TICKETS_MAX);
    disagree.filter_map(|ticket| ticket.finding.as_deref()).any(|finding| finding == id)
        || review.finding_without_ticket.iter().take(FINDINGS_MAX).any(|finding| finding == id)
}

fn parts(report: &Report, body: &mut String) {
    let intro =
        "Identified by serial number where a source names it, otherwise by node and slot. History follows the serial.";
    section(body, "Parts with evidence", intro, |body| {
        let row = |part: &PartLine| {
            let said: Vec<String> =
                part.said.iter().map(|said| format!("{:?} {} ×{}", said.source, said.code, said.count)).collect();
            vec![
                code(part.name.serial.as_deref().unwrap_or("unknown")),
                code(&part.name.node),
                code(part.name.slot.as_deref().unwrap_or("")),
                right(&thousands(part.findings)),
                words(&said.join(", ")),
                cell(&day(&part.first_at)),
                cell(&day(&part.last_at)),
            ]
        };
        let header = ["Serial", "Node", "Slot", ">Findings", "Evidence", "First", "Last"];
        table(body, &header, report.parts.iter().take(PARTS_MAX).map(row), report.parts.len());
    });
}

fn read(report: &Report, body: &mut String) {
    let intro = "Input read, input skipped, and the limits of these numbers.";
    section(body, "Sources and limits", intro, |body| {
        let rows = report.read.iter().map(|read| {
            let volume = &read.volume;
            let figures = [volume.pieces, volume.entries, volume.signals].map(|figure| right(&thousands(figure)));
            std::iter::once(cell(read.kind)).chain(figures).collect()
        });
        table(body, &["Source", ">Files or queries", ">Entries", ">Evidence"], rows, report.read.len());
        if report.skipped.is_empty() {
            body.push_str("<p>No input was skipped.</p>");
        } else {
            let rows = report
                .skipped
                .iter()
                .map(|line| vec![right(&thousands(line.count)), words(line.words), code(&line.first_in)]);
            table(body, &[">Skipped", "Reason", "First in"], rows, report.skipped.len());
        }
        body.push_str(
            "<ul><li>The parsers of the node agent read the kernel lines and counters. The production engine replayed them in \
             Observe mode, with the log timestamps as the clock. No data left the machine, and nothing was changed.</li>\
             <li>GPU-hours exposed: the GPUs of a node, times the time from Mainstay's decision to the first ticket or reboot. \
             Without either, the time ends when the parts had no new evidence for a day. GPU-hours exposed are not lost work: these \
             logs do not show which jobs ran.</li>\
             <li>Missing log lines are not a fault: a node that failed without a log line appears only if a ticket names \
             it.</li>\
             <li>A signal that two sources report for the same node and second counts once.</li></ul>",
        );
    });
}

fn table(body: &mut String, header: &[&str], rows: impl Iterator<Item = Vec<String>>, all: usize) {
    body.push_str("<div class=\"scroll\"><table><thead><tr>");
    for name in header {
        match name.strip_prefix('>') {
            Some(name) => body.push_str(&format!("<th class=\"right\">{name}</th>")),
            None => body.push_str(&format!("<th>{name}</th>")),
        }
    }
    body.push_str("</tr></thead><tbody>\n");
    let mut shown = 0;
    for row in rows {
        shown += 1;
        body.push_str(&format!("<tr>{}</tr>\n", row.concat()));
    }
    body.push_str("</tbody></table></div>");
    if shown < all {
        let (shown, all) = [shown, all].map(|count| thousands(u64::try_from(count).unwrap_or(0))).into();
        body.push_str(&format!("<p class=\"quiet\">{shown} of {all}; <code>-o json</code> has all.</p>"));
    }
    body.push('\n');
}

fn cell(text: &str) -> String {
    format!("<td>{}</td>", escape_html(text))
}

/// A cell that may go on in another line.
fn words(text: &str) -> String {
    format!("<td class=\"words\">{}</td>", escape_html(text))
}

fn code(text: &str) -> String {
    format!("<td class=\"code\">{}</td>", escape_html(text))
}

fn right(text: &str) -> String {
    format!("<td class=\"right\">{}</td>", escape_html(text))
}

#[cfg(test)]
mod tests;
