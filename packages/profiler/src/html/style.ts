/** The page's style: light and dark by what the reader prefers, charts by the width of the window. */
export const STYLE = `
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1f24; --soft: #57606a; --rule: #d5dae0; --panel: #f5f7f9;
  --label: #14181d; --scope: #c9d3de; --block: #e4e9ee; --failed: #ff7b72; --roof: #cf222e; --memory: #1f6feb;
  --op-0: #7cc0f5; --op-1: #f7b267; --op-2: #8fd694; --op-3: #d7a6f0; --op-4: #f5958f; --op-5: #e8d562;
  --op-6: #7fdbd0; --op-7: #f2a9cf; --op-other: #b8bfc7; }
@media (prefers-color-scheme: dark) { :root { --paper: #0f1318; --ink: #e6eaef; --soft: #9aa5b1; --rule: #303841;
  --panel: #181d24; --label: #f0f4f8; --scope: #3b4856; --block: #28313b; --failed: #b3312a; --roof: #ff7b72;
  --memory: #58a6ff; --op-0: #1f6199; --op-1: #94581a; --op-2: #2c7538; --op-3: #73429a; --op-4: #9c3a34;
  --op-5: #7a6a12; --op-6: #1c7068; --op-7: #94406c; --op-other: #59636e; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1208px; padding: 16px 20px 60px; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 8px 0; } h2 { font-size: 1.15rem; margin: 36px 0 8px; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 10px; margin: 14px 0; }
.tiles div { background: var(--panel); border-radius: 8px; padding: 10px 12px; }
.tiles b { display: block; font-size: 1.15rem; } .tiles span, .note, figcaption { color: var(--soft); font-size: .86rem; }
ol.worst { padding: 0; list-style: none; margin: 0; } ol.worst li { margin: 0 0 12px; padding: 10px 12px;
  background: var(--panel); border-radius: 8px; }
.bar { height: 6px; border-radius: 3px; background: var(--op-0); margin: 6px 0; min-width: 2px; }
figure { margin: 8px 0; } figure svg { display: block; max-width: 100%; height: auto; }
.narrow { display: none; }
details { margin: 10px 0; } summary { cursor: pointer; font-weight: 600; }
.legend { font-size: .84rem; margin: 4px 0; } .legend span { white-space: nowrap; margin-right: 12px; }
.legend i { display: inline-block; width: 11px; height: 11px; border-radius: 2px; margin-right: 5px; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .84rem; width: 100%; }
th, td { text-align: right; padding: 3px 8px; border-bottom: 1px solid var(--rule); white-space: nowrap;
  font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { text-align: left; } th { color: var(--soft); font-weight: 600; }
td.long { white-space: normal; overflow-wrap: anywhere; min-width: 180px; }
.failed { color: var(--roof); font-weight: 600; }
@media (max-width: 760px) { .wide { display: none; } .narrow { display: block; } body { padding: 10px 12px 40px; }
  th, td { padding: 3px 5px; } }
`;
