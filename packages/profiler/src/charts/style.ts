/** Style of the charts, light and dark by what the reader prefers, and which of their widths a window shows. */
export const CHART_STYLE = `
:root { color-scheme: light dark; --label: #14181d; --roof: #cf222e; --memory: #1f6feb; --ours: #0b6bcb; --peer: #8c959f;
  --category-0: #7cc0f5; --category-1: #f7b267; --category-2: #8fd694; --category-3: #d7a6f0; --category-4: #f5958f;
  --category-5: #e8d562; --category-6: #7fdbd0; --category-7: #f2a9cf; --category-other: #b8bfc7; }
@media (prefers-color-scheme: dark) { :root { --label: #f0f4f8; --roof: #ff7b72; --memory: #58a6ff; --ours: #58a6ff;
  --peer: #8b949e; --category-0: #1f6199; --category-1: #94581a; --category-2: #2c7538; --category-3: #73429a;
  --category-4: #9c3a34; --category-5: #7a6a12; --category-6: #1c7068; --category-7: #94406c; --category-other: #59636e; } }
figure { margin: 8px 0; } figure svg { display: block; max-width: 100%; height: auto; }
.narrow { display: none; }
.legend { font-size: .84rem; margin: 4px 0; } .legend span { white-space: nowrap; margin-right: 12px; }
.legend i { display: inline-block; width: 11px; height: 11px; border-radius: 2px; margin-right: 5px; }
@media (max-width: 760px) { .wide { display: none; } .narrow { display: block; } }
`;
