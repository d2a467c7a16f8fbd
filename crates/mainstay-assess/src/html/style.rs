//! How the page looks: neutral greys carry it, colour is for kinds of faults alone, in light and in dark.

pub(super) const CSS: &str = "
:root{--ground:#fff;--raised:#f6f7f8;--ink:#1a1a1a;--quiet:#595f66;--line:#d9dde1;--accent:#00629a;
--gpu:#d55e00;--memory:#e69f00;--nvlink:#b8588a;--network:#0072b2;--pcie:#3d9bd4;--host:#009e73;--software:#8a9096;--unknown:#b9bec4}
@media (prefers-color-scheme:dark){:root{--ground:#15181b;--raised:#1e2226;--ink:#e9ecee;--quiet:#a3abb3;--line:#343a40;
--accent:#6cb8e8;--gpu:#f0803c;--memory:#f2b84b;--nvlink:#d98db5;--network:#4ba3dc;--pcie:#8fd0f5;--host:#33c49a;--software:#8d959c;--unknown:#5d646b}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:14px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;font-variant-numeric:tabular-nums}
main{max-width:1080px;margin:0 auto;padding:32px 24px 64px}
h1{font-size:28px;line-height:1.2;margin:4px 0 12px;font-weight:600}
h2{font-size:20px;margin:0 0 2px;font-weight:600}
h3{font-size:14px;margin:20px 0 4px;font-weight:600}
p{max-width:75ch;margin:0 0 12px}
ul{max-width:75ch;padding-left:20px}
li{margin:4px 0}
.lead{font-size:16px}
.quiet{color:var(--quiet)}
section{margin-top:44px}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(170px,1fr));gap:12px;margin-top:20px}
.figures div{background:var(--raised);border-radius:8px;padding:14px 16px}
.figures b{display:block;font-size:24px;line-height:1.2;font-weight:600}
.figures span{display:block;color:var(--quiet);font-size:12px;margin-top:4px}
.scroll{overflow-x:auto;margin:8px 0}
table{border-collapse:collapse;width:100%;font-size:13px}
th{text-align:left;font-weight:600;color:var(--quiet);font-size:12px;white-space:nowrap}
th,td{padding:5px 14px 5px 0;border-bottom:1px solid var(--line);vertical-align:top}
td{white-space:nowrap}
td.words{white-space:normal;min-width:150px}
.right{text-align:right}
.code,code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:12px}
a{color:var(--accent)}
.ids{font-size:12px;max-width:none}
tr:has(td:target){background:var(--raised);outline:2px solid var(--accent)}
svg{display:block;width:100%;height:auto;margin:8px 0 4px}
svg.chart{min-width:680px}
svg text{fill:var(--ink);font-size:12px}
svg .quiet{fill:var(--quiet)}
svg .grid{stroke:var(--line);stroke-width:1}
svg .edge{stroke:var(--ground);stroke-width:1}
svg .named{stroke:var(--quiet);stroke-width:1.5}
.gpu{fill:var(--gpu)}.memory{fill:var(--memory)}.nvlink{fill:var(--nvlink)}.network{fill:var(--network)}.pcie{fill:var(--pcie)}
.host{fill:var(--host)}.software{fill:var(--software)}.unknown{fill:var(--unknown)}.plain{fill:var(--accent)}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;font-size:12px;color:var(--quiet);margin:0 0 4px}
.legend svg{display:inline-block;width:10px;height:10px;margin:0 6px 0 0}
@media print{body{background:#fff}section{break-inside:avoid}}
@media (max-width:600px){main{padding:20px 14px 40px}}
";
