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
.sgp header { display: flex; flex-wrap: wrap; gap: 2px 14px; align-items: baseline; margin-bottom: 6px; }
.sgp header b { font-size: 15px; } .sgp header span { color: var(--faint); font-size: 13px; }
.sgp .outcome { color: var(--ink) !important; border: 1px solid var(--rule); border-radius: 10px; padding: 0 9px; }
.sgp .bar { display: flex; flex-wrap: wrap; gap: 6px; align-items: center; padding: 4px 0; }
.sgp .controls { display: flex; flex-wrap: wrap; gap: 6px; align-items: center; flex: 1 1 320px; min-width: 0; }
.sgp .compare .controls, .sgp.compare .controls { margin-bottom: 10px; }
.sgp .choose { flex: 0 1 auto; min-width: 0; max-width: 260px; text-overflow: ellipsis; font-weight: 600; }
.sgp .choose:nth-child(2):nth-last-child(4) { max-width: 170px; } /* the model, beside a choice of the decoding */
.sgp button, .sgp select { font: inherit; color: inherit; background: var(--panel); border: 1px solid var(--rule);
  border-radius: 6px; padding: 3px 8px; cursor: pointer; min-height: 30px; }
.sgp button:hover { border-color: var(--blue); } .sgp [aria-pressed=true] { background: var(--here); }
.sgp .play { min-width: 82px; font-weight: 600; }
.sgp .icon { vertical-align: -1px; fill: currentColor; stroke: currentColor; stroke-width: 1.5; stroke-linejoin: round; }
.sgp .scrub { flex: 1 1 120px; min-width: 90px; position: relative; display: grid; }
.sgp.marked .controls { padding-bottom: 6px; } .sgp.marked .scrub { order: 1; flex-basis: 100%; } /* room for the marks */
.sgp input[type=range] { accent-color: var(--blue); width: 100%; margin: 0; }
.sgp .lapses { position: absolute; inset: calc(50% + 8px) 8px auto; } /* a scrubber's thumb is 16 px wide */
.sgp .lapses i { position: absolute; left: calc(var(--at) * 100% - 4.5px); width: 9px; height: 9px; cursor: pointer; }
.sgp .lapses svg { width: 9px; height: 9px; display: block; fill: none; stroke: var(--blue); stroke-width: 1.6; }
.sgp .lapses .mistake { fill: var(--orange); stroke: none; } .sgp .lapses .dead-end { stroke: var(--ink); stroke-width: 2; }
.sgp .place { font-variant-numeric: tabular-nums; min-width: 88px; text-align: right; white-space: nowrap; }
.sgp .why { margin: 0; min-height: 20px; }
.sgp.compare .why { margin-bottom: 10px; }
.sgp .words, .sgp .written { margin: 0; min-height: 20px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.sgp .note p { margin: 4px 0 0; max-height: 60px; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; } .sgp .note textarea { width: 100%; box-sizing: border-box; font: inherit; }
.sgp .noted code::after { content: " ✎" / ", with a note"; font-family: system-ui, sans-serif; }
.sgp .words { color: var(--faint); } .sgp .written code { margin-left: 6px; }
.sgp section { border: 1px solid var(--rule); border-radius: 8px; padding: 6px 10px; min-width: 0; min-height: 0;
  contain: content; } /* a step lays out and paints the sections that it changes */
.sgp .grid, .sgp .main, .sgp .side, .sgp .below, .sgp .more { display: grid; gap: 8px; grid-template-columns: minmax(0, 1fr); min-width: 0; min-height: 0; }
.sgp .main, .sgp .side { align-content: start; } .sgp .more { margin-top: 8px; }
.sgp .pictures h3 { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.sgp h3 { font-size: 12px; font-weight: 600; color: var(--faint); margin: 0 0 4px; letter-spacing: 0; padding: 0; line-height: 1.4; }
.sgp .pictures { display: grid; grid-template-columns: var(--columns); gap: 8px; min-height: 0; }
@container (max-width: 859px) { .sgp .pictures.wide { grid-template-columns: minmax(0, 1fr); }
  .sgp .pictures.wide .picture { height: auto; aspect-ratio: var(--aspect); max-height: clamp(250px, 52vh, 480px); }
  .sgp .pictures.wide section + section .picture { max-height: clamp(160px, 34vh, 260px); }
  .sgp .main { display: contents; } .sgp .below { order: 1; } } /* the candidates stand directly below the pictures */
.sgp .picture { display: grid; place-items: center; height: clamp(200px, 44cqw, 420px); position: relative; min-height: 0; }
.sgp .picture svg { width: 100%; height: 100%; } .sgp .now, .sgp .would { position: absolute; inset: 0; }
.sgp .would { pointer-events: none; } .sgp .ghost { opacity: .55; } .sgp .ghost.alone { opacity: .8; }
.sgp .now.replaced { visibility: hidden; }
.sgp .change, .sgp .goals { height: 42px; overflow: auto; font-size: 12px; line-height: 20px; margin-top: 2px;
  background: linear-gradient(transparent, var(--paper) 6px) 0 100% / 100% 10px no-repeat local,
    linear-gradient(transparent, var(--rule)) 0 100% / 100% 8px no-repeat; } /* shaded below where more follows */
.sgp .change p { margin: 0; } .sgp .change code, .sgp .expects code { margin-right: 8px; font-size: 12px; }
.sgp .expects { display: flex; white-space: pre; height: 20px; margin: 0; overflow: hidden; font-size: 12px; line-height: 20px; color: var(--faint); }
.sgp .expects[hidden] { display: none; } .sgp .expects.all { display: block; height: auto; max-height: 80px; overflow: auto; white-space: normal; }
.sgp .expects span { display: inline-block; max-width: 100%; min-width: 0; margin-right: 8px; vertical-align: top; overflow: hidden; text-overflow: ellipsis; } .sgp .expects button { flex: none; min-height: 18px; padding: 0 6px; line-height: 1.2; }
.sgp .goals { display: flex; flex-wrap: wrap; gap: 0 12px; align-content: start; color: var(--faint); }
.sgp .goals li { white-space: nowrap; } .sgp .goals .holds { color: var(--ink); font-weight: 600; }
.sgp .candidates { display: flex; flex-direction: column; align-items: start; max-height: 372px; gap: 4px; }
.sgp .candidates h3 { margin: 0; } .sgp .candidates table { font-size: 13px; }
.sgp .scroll { overflow: auto; width: 100%; position: relative; min-height: 0; }
.sgp table { border-collapse: collapse; width: 100%; table-layout: fixed; font-variant-numeric: tabular-nums; margin: 0; }
.sgp thead th { position: sticky; top: 0; background: var(--paper); box-shadow: 0 1px var(--rule); }
.sgp th { text-align: left; font-weight: 600; color: var(--faint); font-size: 12px; }
.sgp th, .sgp td { padding: 2px 8px 2px 0; border: 0; vertical-align: top; }
.sgp .number { text-align: right; white-space: nowrap; } .sgp td.marks { padding-right: 0; }
.sgp .candidates th { white-space: normal; vertical-align: bottom; line-height: 1.2; }
.sgp .candidates th:nth-child(1) { width: 36px; } .sgp .candidates th:nth-child(3) { width: 62px; }
.sgp .candidates th:nth-child(4) { width: 68px; } .sgp .candidates th:nth-child(5) { width: 58px; }
.sgp .candidates th:nth-child(6) { width: 56px; } .sgp .candidates th:nth-child(7) { width: 46px; } .sgp .candidates th:nth-child(8) { width: 88px; }
.sgp .pathless :is(th, td):nth-child(5), .sgp .boundless :is(th, td):nth-child(6) { display: none; }
@container (min-width: 860px) and (max-width: 1100px) { .sgp .candidates :is(th, td):is(:nth-child(4), :nth-child(5), :nth-child(7)) { display: none; } } /* room for the actions */
@container (min-width: 1101px) and (max-width: 1200px) { .sgp .candidates :is(th, td):nth-child(4) { display: none; } }
.sgp .candidates tbody tr { cursor: pointer; } .sgp .candidates tr.pointed { background: var(--panel); box-shadow: inset 3px 0 var(--orange); }
.sgp tr.chosen td { font-weight: 600; } .sgp tr.closed td { color: var(--faint); }
.sgp tr.picked { background: var(--pick) !important; } .sgp code { font: 12.5px/1.4 ui-monospace, monospace;
  background: none; color: inherit; padding: 0; overflow-wrap: anywhere; }
.sgp .badge { display: inline-block; border: 1px solid var(--rule); border-radius: 8px; padding: 0 6px; font-size: 12px;
  white-space: nowrap; }
.sgp .because { margin: 0 0 4px; font-size: 13px; line-height: 18px; height: 54px; overflow: auto; }
.sgp .reasons details { font-size: 13px; } .sgp .reasons summary { cursor: pointer; color: var(--faint); font-size: 12px; font-weight: 600; }
.sgp .reasons details p { margin: 2px 0; font-size: 12px; } .sgp .raw { min-height: 24px; padding: 0 8px; font-size: 12px; }
.sgp .reasons li { display: grid; grid-template-columns: 110px 5.2em minmax(0, 1fr); gap: 8px; min-height: 21px; align-items: center;
  font-variant-numeric: tabular-nums; } .sgp .reasons li .faint { display: none; }
.sgp .rawly li { grid-template-columns: 110px 58px minmax(0, 1fr) max-content !important; } .sgp .rawly li .faint { display: inline !important; }
.sgp .reasons .feature { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.sgp .diverging { position: relative; height: 12px; background: linear-gradient(var(--faint), var(--faint)) 50% / 1px 100% no-repeat; }
.sgp .diverging i { position: absolute; top: 1px; bottom: 1px; } .sgp .diverging .for { left: 50%; background: var(--blue); }
.sgp .diverging .against { right: 50%; background: var(--orange); }
.sgp ul, .sgp ol { list-style: none; margin: 0; padding: 0; } .sgp li { margin: 0; padding: 0; }
.sgp .plan { max-height: 220px; } .sgp .plan button { display: flex; gap: 8px; width: 100%; text-align: left; border: 0;
  background: none; padding: 1px 6px; min-height: 24px; }
.sgp .plan button:hover { background: var(--panel); } .sgp .plan [aria-current] { background: var(--here); font-weight: 600; }
.sgp .plan span { color: var(--faint); min-width: 3ch; text-align: right; }
.sgp .map { display: flex; flex-direction: column; }
.sgp .map h3 { display: flex; gap: 6px; align-items: center; } .sgp .map h3 span { flex: 1; }
.sgp .map h3 button { min-height: 24px; padding: 0 8px; }
.sgp .map .layers { position: relative; aspect-ratio: 400 / 270; min-height: 0; }
.sgp .map svg.points { width: 100%; height: 100%; display: block; position: relative; }
.sgp .map svg.ground { position: absolute; inset: 0; width: 100%; height: 100%; will-change: transform; } .sgp .map .point { cursor: pointer; }
.sgp .map p { margin: 2px 0 0; font-size: 12px; line-height: 17px; } .sgp .map .arrow { pointer-events: none; }
.sgp .map :is(.notes, .caption) { height: 17px; flex: none; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.sgp .map .legend { display: flex; flex-wrap: wrap; gap: 0 4px; justify-content: space-between; font-size: 11.5px; }
.sgp .map .legend svg { width: 15px; height: 15px; vertical-align: -3px; margin-right: 2px; }
.sgp .map .point:focus-visible .mark { stroke-width: 5; }
.sgp .ruler text { font: 12px var(--st-font, system-ui, sans-serif); } .sgp .map text { font: 14px var(--st-font, system-ui, sans-serif); fill: var(--ink); stroke: var(--paper); stroke-width: 3; paint-order: stroke; } .sgp .map .prediction text { fill: var(--orange); }
.sgp .ruler svg { width: 100%; height: auto; display: block; } .sgp .ruler .tick { cursor: pointer; }
.sgp .lanes text { font: 12px var(--st-font, system-ui, sans-serif); fill: var(--ink); } .sgp .lanes text.faint { fill: var(--faint); }
.sgp .lanes svg { width: 100%; height: auto; display: block; } .sgp .lanes .kept { cursor: pointer; } .sgp .lanes[hidden] { display: none; }
.sgp .beside { display: flex; flex-direction: column; gap: 8px; min-width: 0; min-height: 0; } .sgp .beside > * { flex: none; } .sgp .beside > :last-child { flex: 1; }
.sgp .coverage { display: flex; flex-direction: column; max-height: 340px; font-size: 12.5px; line-height: 1.25; }
.sgp .coverage small { display: block; font-size: 11px; font-weight: 400; color: var(--faint); white-space: nowrap; }
.sgp .coverage tbody th { font-weight: 400; color: var(--ink); max-width: 0; white-space: nowrap; } .sgp .coverage tbody th, .sgp .coverage th small { overflow: hidden; text-overflow: ellipsis; } .sgp .coverage th:first-child { width: 38%; min-width: 96px; }
.sgp .coverage :is(th, td) { padding: 1px 4px 1px 0; } .sgp .coverage thead th { font-size: 11px; } .sgp .coverage thead small { white-space: normal; } .sgp .coverage table { table-layout: auto; }
.sgp .coverage td b { font-weight: 400; } .sgp .coverage .own { background: var(--here); } .sgp .coverage .own th, .sgp .coverage .own b { font-weight: 700; }
.sgp .coverage tbody tr { border-top: 1px solid var(--rule); } .sgp .coverage thead th { z-index: 1; }
.sgp .curves svg { width: 100%; height: auto; display: block; cursor: crosshair; touch-action: none; }
.sgp .curves text { fill: var(--ink); font: 14px var(--st-font, system-ui, sans-serif); } .sgp .below .curves text { font-size: 20px; }
.sgp .faint { color: var(--faint); } .sgp .curves text.faint { fill: var(--faint); }
.sgp .help { position: absolute; inset: 0; background: color-mix(in srgb, var(--paper) 78%, transparent); z-index: 9;
  display: grid; place-items: start center; padding-top: 40px; }
.sgp .help[hidden] { display: none; } .sgp .help section { background: var(--paper); max-width: 560px; padding: 16px 20px;
  box-shadow: 0 6px 30px #0005; }
.sgp .leave { margin: 10px 0 0; } .sgp .leave a { color: var(--blue); text-decoration: underline; }
.sgp dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 18px; margin: 0 0 12px; } .sgp dd { margin: 0; }
.sgp dt { font-weight: 600; }
@container (min-width: 560px) { .sgp .below, .sgp .more.two { grid-template-columns: minmax(0, 6fr) minmax(0, 5fr); } }
/* Where there is room all of a step fits on the screen: --sgp-room is what the host has left below the bar. */
@container (min-width: 860px) {
  .sgp .bar { position: sticky; top: var(--sgp-top, 0px); z-index: 5; background: var(--paper); }
  .sgp:not(.large) .grid { grid-template-columns: minmax(0, 13fr) minmax(0, 10fr); height: clamp(560px, var(--sgp-room, 620px), 960px); }
  .sgp.marked:not(.large) .grid { height: clamp(560px, calc(var(--sgp-room, 620px) - 22px), 960px); }
  .sgp:not(.large) :is(.main, .side) { height: 100%; align-content: stretch; }
  .sgp:not(.large) .main { grid-template-rows: minmax(0, 15fr) minmax(0, 13fr); }
  .sgp.mapless:not(.large) .main { grid-template-rows: minmax(0, 1fr) auto; }
  .sgp:not(.large) .side { display: flex; flex-direction: column; }
  .sgp:not(.large) .pictures section { display: flex; flex-direction: column; } .sgp:not(.large) .picture { height: auto; flex: 1; }
  .sgp:not(.large) .map .layers { aspect-ratio: auto; flex: 1; }
  .sgp .choice { flex: none; } .sgp .choice .why { height: 60px; overflow: auto; font-size: 13px; line-height: 20px; } .sgp .reasons { flex: none; }
  .sgp:not(.large) .candidates { max-height: none; flex: 1; } .sgp:not(.large) .coverage { max-height: none; }
  .sgp .plan { height: 220px; } }
@container (min-width: 860px) and (max-width: 1100px) { .sgp .choose { max-width: 150px; } }
.sgp.mapless .map { display: none; } .sgp.mapless .below { grid-template-columns: minmax(0, 1fr); }
@container (min-width: 560px) { .sgp.mapless .beside { flex-direction: row; } .sgp.mapless .beside > * { flex: 1; min-width: 0; max-width: 50%; } }
.sgp[data-view=step] :is(.below, .reasons), .sgp[data-view=teach] :is(.below, .reasons, .candidates, .more), .sgp[data-view=explain] :is(.coverage, .candidates) { display: none; }
.sgp[data-view=teach] .words { white-space: normal; }
.sgp[data-view=explain] .reasons .feature { white-space: normal; } .sgp[data-view=explain] .because { height: auto; }
@container (min-width: 860px) { .sgp[data-view=explain]:not(.large) .main { grid-template-rows: minmax(0, 1fr) minmax(0, 1fr); }
  .sgp[data-view=explain] .ruler { flex: 1; }
  .sgp[data-view=explain] .below { grid-template-columns: minmax(0, 7fr) minmax(0, 5fr) !important; } }
.sgp .picture text.mentioned { fill: var(--orange) !important; font-weight: 700; text-decoration: underline; stroke: var(--paper); stroke-width: 4; paint-order: stroke; }
.sgp .picture rect.mentioned { stroke: var(--orange) !important; stroke-width: 4; stroke-opacity: 1; }
.sgp[data-view=teach] .why { font-size: 22px; line-height: 1.4; height: auto !important; } .sgp[data-view=teach] .why code { font-size: 19px; } .sgp[data-view=teach] .words { font-size: 18px; }
@container (min-width: 860px) { .sgp:is([data-view=step], [data-view=teach]):not(.large) .main { grid-template-rows: minmax(0, 1fr) !important; }
  .sgp[data-view=teach]:not(.large) .grid { grid-template-columns: minmax(0, 3fr) minmax(0, 1fr) !important; }
  .sgp[data-view=explain] .reasons { flex: 1 !important; } }
.sgp.ended .side :is(.candidates, .reasons) { display: none; } .sgp[data-view=teach] .side .planned { display: none; }
@container (min-width: 860px) { .sgp:not(.large) .side .planned { flex: 1; display: flex; flex-direction: column; } .sgp:not(.large) .side .plan { height: auto; max-height: none; flex: 1; } }
.sgp.large .picture { height: 80vh; }
.sgp.compare .picture { height: clamp(200px, 26cqw, 420px); }
`;

/** Streamlit's and JupyterLab's theme is their own choice, not the system's: takes light or dark from their background. */
function followTheme(root) {
  const look = getComputedStyle(root);
  if (!["--st-background-color", "--jp-layout-color0"].some((name) => look.getPropertyValue(name))) return;
  const [red, green, blue] = look.backgroundColor.match(/\d+/g).map(Number); // "rgb(20, 23, 28)"
  root.style.colorScheme = 0.3 * red + 0.59 * green + 0.11 * blue < 128 ? "dark" : "light";
}
