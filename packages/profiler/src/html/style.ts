import { CHART_STYLE } from "../charts/style";

/** The page's style: light and dark by what the reader prefers. */
export const STYLE = `${CHART_STYLE}
:root { --paper: #fff; --ink: #1b1f24; --soft: #57606a; --rule: #d5dae0; --panel: #f5f7f9; --scope: #c9d3de;
  --block: #e4e9ee; --failed: #ff7b72; }
@media (prefers-color-scheme: dark) { :root { --paper: #0f1318; --ink: #e6eaef; --soft: #9aa5b1; --rule: #303841;
  --panel: #181d24; --scope: #3b4856; --block: #28313b; --failed: #b3312a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1208px; padding: 16px 20px 60px; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 8px 0; } h2 { font-size: 1.15rem; margin: 36px 0 8px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 10px; margin: 14px 0; }
.tiles div { background: var(--panel); border-radius: 8px; padding: 10px 12px; }
.tiles b { display: block; font-size: 1.15rem; } .tiles span, .note, figcaption { color: var(--soft); font-size: .86rem; }
ol.worst { padding: 0; list-style: none; margin: 0; } ol.worst li { margin: 0 0 12px; padding: 10px 12px;
  background: var(--panel); border-radius: 8px; }
.bar { height: 6px; border-radius: 3px; background: var(--category-0); margin: 6px 0; min-width: 2px; }
details { margin: 10px 0; } summary { cursor: pointer; font-weight: 600; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .84rem; width: 100%; }
th, td { text-align: right; padding: 3px 8px; border-bottom: 1px solid var(--rule); white-space: nowrap;
  font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { text-align: left; } th { color: var(--soft); font-weight: 600; }
td.long { white-space: normal; overflow-wrap: anywhere; min-width: 180px; }
.failed { color: var(--roof); font-weight: 600; }
@media (max-width: 760px) { body { padding: 10px 12px 40px; }
  th, td { padding: 3px 5px; } }
`;
