// The coverage of planners in the rollout's domain, where the host knows it.

/** A table of planners by splits: share solved, its interval, the number of problems; the rollout's planner is marked. */
function coverageTable({ domain, splits, rows }) {
  const cell = (found) => found
    ? h("td", { title: `${found.share}, 95 % interval ${found.low} to ${found.high}, n = ${found.n}${found.seeds > 1 ? `, mean of ${found.seeds} seeds` : ""}` },
      h("b", {}, found.share), h("small", {}, `${found.low}–${found.high}`), ...(found.n === splits[found.split].n ? [] : [h("small", {}, `n = ${found.n}`)]))
    : h("td", { class: "faint" }, "—"); // prettier-ignore
  const body = rows.map((row) => h("tr", { class: row.own ? "own" : "", "aria-current": row.own ? "true" : null },
    h("th", { scope: "row", title: row.about }, row.own ? "▸ " : "", row.method, ...(row.settings ? [h("small", {}, row.settings)] : [])), ...row.cells.map(cell))); // prettier-ignore
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
