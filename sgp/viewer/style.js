// The one stylesheet, of player and comparison, and its light or dark.

const STYLE = `
.sgp { --paper: var(--st-background-color, var(--jp-layout-color0, light-dark(#ffffff, #14171c)));
  --ink: var(--st-text-color, light-dark(#1d2127, #e8eaee));
  --panel: light-dark(#f5f6f8, #1d2128); --rule: light-dark(#d8dce2, #3a404a); --faint: light-dark(#5c6470, #a2aab6);
  --blue: light-dark(#0067a5, #63b3ed); --orange: light-dark(#b34700, #ff9e57);
  --pick: light-dark(#fff0c9, #4a3d14); --here: light-dark(#dcecf8, #1d3a52);
  background: var(--paper); color: var(--ink); container-type: inline-size; position: relative;
  font: 14px/1.4 var(--st-font, system-ui, sans-serif); outline-offset: 3px; }
.sgp * { box-sizing: border-box; }
.sgp :focus-visible, .sgp:focus-visible { outline: 2px solid var(--blue); outline-offset: 1px; border-radius: 4px; }
.sgp header { display: flex; flex-wrap: wrap; gap: 2px 14px; align-items: baseline; margin-bottom: 8px; }
.sgp header b { font-size: 17px; } .sgp header span { color: var(--faint); }
.sgp .outcome { color: var(--ink) !important; border: 1px solid var(--rule); border-radius: 10px; padding: 0 9px; }
.sgp .controls { display: flex; flex-wrap: wrap; gap: 6px; align-items: center; margin-bottom: 10px; }
.sgp button, .sgp select { font: inherit; color: inherit; background: var(--panel); border: 1px solid var(--rule);
  border-radius: 6px; padding: 3px 10px; cursor: pointer; min-height: 30px; }
.sgp button:hover { border-color: var(--blue); }
.sgp .play { min-width: 92px; font-weight: 600; }
.sgp .icon { vertical-align: -1px; fill: currentColor; stroke: currentColor; stroke-width: 1.5; stroke-linejoin: round; }
.sgp input[type=range] { flex: 1 1 160px; accent-color: var(--blue); min-width: 120px; }
.sgp .place { font-variant-numeric: tabular-nums; min-width: 88px; text-align: right; }
.sgp .why { margin: 0 0 10px; min-height: 20px; }
.sgp .words, .sgp .written { margin: -6px 0 10px; min-height: 20px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.sgp .written code { margin-left: 6px; }
.sgp .reasons { margin: 0 0 10px; font-size: 13px; } .sgp .reasons summary { cursor: pointer; }
.sgp .reasons li { display: grid; grid-template-columns: 8ch 8ch minmax(0, 1fr) max-content; gap: 10px; min-height: 20px;
  font-variant-numeric: tabular-nums; } .sgp .reasons li span:nth-child(3) { overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; } .sgp .reasons ol { min-height: 120px; padding: 2px 0 0 16px; }
.sgp .grid { display: grid; gap: 12px; grid-template-columns: minmax(0, 1fr); }
.sgp .pictures { display: grid; grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); gap: 12px; }
@container (max-width: 1500px) { .sgp:not(.large) .pictures.wide { grid-template-columns: minmax(0, 1fr); }
  .sgp:not(.large) .pictures.wide .picture { height: auto; aspect-ratio: var(--aspect); max-height: 480px; }
  .sgp:not(.large) .pictures.wide section + section .picture { max-height: 260px; } }
.sgp section { border: 1px solid var(--rule); border-radius: 8px; padding: 8px 10px; min-width: 0;
  contain: content; } /* a step lays out and paints the sections that it changes */
.sgp .main, .sgp .side { display: grid; gap: 12px; align-content: start; min-width: 0; }
.sgp h3 { font-size: 12px; font-weight: 600; color: var(--faint); margin: 0 0 6px; letter-spacing: 0; padding: 0; }
.sgp h3[title] { cursor: help; }
.sgp .picture { display: grid; place-items: center; height: clamp(200px, 44cqw, 420px); }
.sgp .picture svg { width: 100%; height: 100%; }
.sgp .candidates { display: flex; flex-direction: column; align-items: start; max-height: 372px; gap: 4px; }
.sgp .scroll { overflow: auto; width: 100%; }
.sgp table { border-collapse: collapse; width: 100%; table-layout: fixed; font-variant-numeric: tabular-nums; margin: 0; }
.sgp th { position: sticky; top: 0; background: var(--paper); text-align: left; font-weight: 600; color: var(--faint);
  font-size: 12px; box-shadow: 0 1px var(--rule); }
.sgp th, .sgp td { padding: 2px 8px 2px 0; border: 0; vertical-align: top; }
.sgp .number { text-align: right; white-space: nowrap; } .sgp td.marks { padding-right: 0; }
.sgp th:nth-child(1) { width: 36px; } .sgp th:nth-child(3) { width: 62px; } .sgp th:nth-child(4) { width: 68px; }
.sgp th:nth-child(5) { width: 44px; } .sgp th:nth-child(6) { width: 88px; }
.sgp tbody tr { cursor: pointer; } .sgp tbody tr:hover { background: var(--panel); }
.sgp tr.chosen td { font-weight: 600; } .sgp tr.closed td { color: var(--faint); }
.sgp tr.picked { background: var(--pick) !important; } .sgp code { font: 12.5px/1.4 ui-monospace, monospace;
  background: none; color: inherit; padding: 0; overflow-wrap: anywhere; }
.sgp .badge { display: inline-block; border: 1px solid var(--rule); border-radius: 8px; padding: 0 6px; font-size: 12px;
  white-space: nowrap; }
.sgp .change { display: grid; grid-template-columns: 1fr 1fr; gap: 10px; }
.sgp ul, .sgp ol { list-style: none; margin: 0; padding: 0; } .sgp li { margin: 0; padding: 0; }
.sgp .plan { max-height: 220px; } .sgp .plan button { display: flex; gap: 8px; width: 100%; text-align: left; border: 0;
  background: none; padding: 1px 6px; min-height: 24px; }
.sgp .plan button:hover { background: var(--panel); } .sgp .plan [aria-current] { background: var(--here); font-weight: 600; }
.sgp .plan span { color: var(--faint); min-width: 3ch; text-align: right; }
.sgp .tracks { display: grid; gap: 12px; grid-template-columns: minmax(0, 1fr); }
@container (min-width: 560px) { .sgp .tracks.two { grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); } }
.sgp .map h3 { display: flex; gap: 6px; align-items: center; } .sgp .map h3 span { flex: 1; }
.sgp .map h3 button { min-height: 24px; padding: 0 8px; } .sgp .map [aria-pressed=true] { background: var(--here); }
.sgp .map .layers { position: relative; } .sgp .map svg.points { width: 100%; height: auto; display: block; position: relative; }
.sgp .map svg.ground { position: absolute; inset: 0; width: 100%; will-change: transform; } .sgp .map .point { cursor: pointer; }
.sgp .map p { margin: 4px 0 0; font-size: 12px; } .sgp .map .said { min-height: 17px; overflow: hidden;
  text-overflow: ellipsis; white-space: nowrap; } .sgp .map .legend { display: flex; flex-wrap: wrap; gap: 2px 12px; }
.sgp .map .legend svg { width: 14px; height: 12px; vertical-align: -1px; margin-right: 4px; }
.sgp .map .point:focus-visible .mark { stroke-width: 5; }
.sgp .curves svg { width: 100%; height: auto; display: block; cursor: crosshair; touch-action: none; }
.sgp .tracks.two .curves text { font-size: 15px; } .sgp .curves text { fill: var(--ink); font: 11px var(--st-font, system-ui, sans-serif); }
.sgp .faint { color: var(--faint); } .sgp .curves text.faint { fill: var(--faint); }
.sgp .help { position: absolute; inset: 0; background: color-mix(in srgb, var(--paper) 78%, transparent); z-index: 9;
  display: grid; place-items: start center; padding-top: 40px; }
.sgp .help[hidden] { display: none; } .sgp .help section { background: var(--paper); max-width: 560px; padding: 16px 20px;
  box-shadow: 0 6px 30px #0005; }
.sgp .leave { margin: 10px 0 0; } .sgp .leave a { color: var(--blue); text-decoration: underline; }
.sgp dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 18px; margin: 0 0 12px; } .sgp dd { margin: 0; }
.sgp dt { font-weight: 600; }
@container (min-width: 860px) {
  .sgp .grid { grid-template-columns: minmax(0, 11fr) minmax(0, 9fr); }
  .sgp .picture { height: clamp(220px, 26cqw, 420px); }
  .sgp .candidates { height: 372px; } .sgp .plan { height: 220px; } .sgp .changes { min-height: 128px; } }
.sgp.large .grid { grid-template-columns: minmax(0, 1fr); } .sgp.large .picture { height: 80vh; }
`;

/** Streamlit's and JupyterLab's theme is their own choice, not the system's: takes light or dark from their background. */
function followTheme(root) {
  const look = getComputedStyle(root);
  if (!["--st-background-color", "--jp-layout-color0"].some((name) => look.getPropertyValue(name))) return;
  const [red, green, blue] = look.backgroundColor.match(/\d+/g).map(Number); // "rgb(20, 23, 28)"
  root.style.colorScheme = 0.3 * red + 0.59 * green + 0.11 * blue < 128 ? "dark" : "light";
}
