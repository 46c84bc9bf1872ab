// The page of one trace. The candidate in the address (#12) is shown first.
const model = new TraceModel(JSON.parse(by_id("trace").textContent));
const tree = new TreeView(by_id("tree"), by_id("candidate"), {on_select: node => history.replaceState(null, "", `#${node.id}`)});
by_id("method").textContent = model.settings.method;
by_id("question").textContent = model.question;
by_id("settings").textContent = Object.entries(model.settings)
  .filter(([name, value]) => name !== "method" && String(value).trim() !== "" && value !== false).map(([name, value]) => `${name} ${value}`).join("  \u00b7  ");
tree.show(model, Number(location.hash.slice(1) || NaN));
