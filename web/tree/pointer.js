// Mouse, touch and keyboard on the tree. Wheel or pinch zooms (with Shift only sideways), a drag pans, a click selects.
function watch_pointer(tree, area) {
  const pointers = new Map();
  let moved = 0;
  const place = event => {
    const box = area.getBoundingClientRect();
    return {x: event.clientX - box.left, y: event.clientY - box.top};
  };
  const spread = () => {
    const [a, b] = [...pointers.values()];
    return {x: (a.x + b.x) / 2, y: (a.y + b.y) / 2, far: Math.max(20, Math.hypot(a.x - b.x, a.y - b.y))};
  };
  area.addEventListener("wheel", event => {
    event.preventDefault();
    const at = place(event), size = event.deltaMode === 1 ? 18 : 1, turn = event.deltaY || event.deltaX;
    tree.view.zoom(Math.exp(-Math.max(-240, Math.min(240, turn * size)) * 0.0022), at.x, at.y, {vertical: !event.shiftKey});
    tree.redraw();
  }, {passive: false});
  area.addEventListener("pointerdown", event => {
    if (event.button) return;
    if (!pointers.size) moved = 0;
    pointers.set(event.pointerId, place(event));
    area.setPointerCapture(event.pointerId);
  });
  area.addEventListener("pointermove", event => {
    const at = place(event), last = pointers.get(event.pointerId);
    if (!last) { tree.hover(at); return; }
    moved += Math.abs(at.x - last.x) + Math.abs(at.y - last.y);
    if (pointers.size === 2) {
      const before = spread();
      pointers.set(event.pointerId, at);
      const after = spread();
      tree.view.zoom(after.far / before.far, after.x, after.y);
      tree.view.pan(after.x - before.x, after.y - before.y);
    } else {
      pointers.set(event.pointerId, at);
      if (moved > 4) tree.view.pan(at.x - last.x, at.y - last.y);
    }
    tree.redraw();
  });
  const release = event => {
    const at = place(event), known = pointers.delete(event.pointerId);
    if (!known || event.type === "pointercancel" || moved > 4) return;
    const node = tree.node_at(at);
    if (node) tree.select(node);
    area.focus({preventScroll: true});
  };
  area.addEventListener("pointerup", release);
  area.addEventListener("pointercancel", release);
  area.addEventListener("pointerleave", () => tree.hover());
}
// The node an arrow key leads to: parent, best child, or the next better or worse one of the block.
function neighbour(model, node, key, shown) {
  const block = model.blocks[node.block];
  switch (key) {
    case "ArrowLeft": return node.parent;
    case "ArrowRight": return node.children.filter(child => child.block < shown).toSorted((a, b) => a.row - b.row)[0];
    case "ArrowUp": return block[node.row - 1];
    case "ArrowDown": return block[node.row + 1];
    case "PageUp": return block[Math.max(0, node.row - 10)];
    case "PageDown": return block[Math.min(block.length - 1, node.row + 10)];
  }
}
function watch_keys(tree, area) {
  area.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const {view, model, current} = tree, key = event.key;
    const zoom = {"+": 1.25, "=": 1.25, "-": 0.8, "_": 0.8}[key];
    if (zoom) view.zoom(zoom);
    else if (key === "0") view.fit(tree.layout);
    else if (key === "Home") tree.select(model.best());
    else if (key === " ") tree.replay.toggle();
    else if (key === "c") tree.pin(current);
    else if (key === "Enter" && tree.hooks.on_continue && current) tree.hooks.on_continue(current, model);
    else if (/^(Arrow|Page)/.test(key)) {
      const next = current && neighbour(model, current, key, tree.shown);
      if (next) tree.select(next);
    } else return;
    event.preventDefault();
    tree.redraw();
  });
}
