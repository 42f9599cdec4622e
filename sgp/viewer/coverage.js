// The coverage of planners in the rollout's domain, where the host knows it.

const PLAIN = (value) => value.toFixed(2);

/** A share with two decimals, with more where one between 0 and 1 would be rounded to either. */
function shownShare(share) {
  let digits = 2;
  while (share > 0 && share < 1 && [0, 1].includes(Number(share.toFixed(digits)))) digits += 1;
  return share.toFixed(digits);
}

/** A table of planners by splits: share solved, its interval, the number of problems; the rollout's planner is marked. */
function coverageTable({ domain, splits, rows }) {
  const cell = (found) => found
    ? h("td", { title: `${shownShare(found.value)}, 95 % interval ${PLAIN(found.low)} to ${PLAIN(found.high)}, n = ${found.n}${found.seeds > 1 ? `, mean of ${found.seeds} seeds` : ""}` },
      h("b", {}, shownShare(found.value)), h("small", {}, `${PLAIN(found.low)}–${PLAIN(found.high)}`), ...(found.n === splits[found.split].n ? [] : [h("small", {}, `n = ${found.n}`)]))
    : h("td", { class: "faint" }, "—"); // prettier-ignore
  const body = rows.map((row) => h("tr", { class: row.own ? "own" : "", "aria-current": row.own ? "true" : null },
    h("th", { scope: "row", title: row.about }, row.own ? "▸ " : "", row.planner), ...row.cells.map(cell))); // prettier-ignore
  const heads = splits.map((split) => h("th", { scope: "col", title: split.about }, split.name, ...(split.count ? [h("small", {}, `n = ${split.count}`)] : [])));
  const scroll = h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": `Coverage in ${domain}` },
    h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "planner"), ...heads)), h("tbody", {}, ...body))); // prettier-ignore
  const known = rows.some((row) => row.own) ? "" : "; this planner was not measured";
  const element = h("section", { class: "coverage" }, h("h3", {}, `Coverage in ${domain}: share solved, 95\u00a0% interval${known}`), scroll);
  /** Scrolls the box so that the own row is seen, below the heads. */
  const reveal = () => {
    const own = body.find((each) => each.className === "own");
    if (own) scroll.scrollTop = own.offsetTop - Math.max(heads[0]?.offsetHeight ?? 0, (scroll.clientHeight - own.offsetHeight) / 2);
  };
  return { element, reveal };
}
