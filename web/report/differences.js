// Every method against every other: row minus column, coloured by effect and faded by p.
function show_matrix(task) {
  const table = by_id("matrix"), list = task.methods.map(m => m.method), best = best_group(task);
  table.replaceChildren();
  const head = make("tr", make("thead", table));
  make("th", head, "row \u2212 column", {scope: "col"});
  list.forEach((method, i) => make("th", head, String(i + 1), {scope: "col", title: method, "aria-label": names.get(method)}));
  const largest = Math.max(0.02, ...task.pairs.map(pair => Math.abs(pair.difference)));
  const body = make("tbody", table);
  list.forEach((a, i) => {
    const row = make("tr", body);
    make("th", row, `${i + 1} ${names.get(a)}${best.has(a) ? " \u25cf" : ""}`, {scope: "row", title: a + (best.has(a) ? " (in the best group)" : "")});
    for (const b of list) {
      const test = a === b ? undefined : difference(task, a, b);
      const cell = make("td", row, test ? signed(test.difference) : a === b ? "" : "-");
      if (!test) continue;
      const tie = !(test.p < NOISE), share = Math.abs(test.difference) / largest;
      cell.className = tie ? "tie" : "sure";
      cell.title = `${names.get(a)} minus ${names.get(b)}: ${signed(test.difference)} points, ${probability(test.p)}` +
        `${tie ? ", within noise" : ""}; ${test.test}, ${plural(test.questions, "question")}`;
      const tint = Math.round((6 + 44 * share) * (tie ? 0.12 + 0.1 * (1 - test.p) : 1 - 6 * test.p));
      if (test.difference !== 0) cell.style.background = `color-mix(in srgb, var(--${test.difference > 0 ? "gain" : "loss"}) ${tint}%, var(--panel))`;
    }
  });
}
