// Draws a layout on a canvas. The work of a frame is bounded by pixels, not by nodes: of nodes, or edges, that would fall on the
// same few pixels one is drawn.
const ROOT = {x: 4, y: HEIGHT / 3}, CELL = 4;

class TreeDrawing {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", {alpha: false});
    this.seen = new Uint32Array(0);  // per cell of the screen, or pair of cells: the last `stamp` that drew there
    this.stamp = 0;
    this.images = new Map();
    this.stats = {frames: 0, nodes: 0, edges: 0, milliseconds: 0};
  }
  resize(width, height) {
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.rows = Math.ceil(height / CELL) + 3;
    this.seen = new Uint32Array(Math.max(this.rows * this.rows, this.rows * 64));
  }
  // `scene`: {layout, view, palette, shown (blocks), chosen and other (sets of nodes), current, pinned}
  draw(scene) {
    const began = performance.now(), {context} = this, {view, palette} = scene, ratio = window.devicePixelRatio || 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = palette.panel;
    context.fillRect(0, 0, view.width, view.height);
    this.stats.nodes = this.stats.edges = 0;
    const [first, past] = view.columns(scene.shown);
    this.radius = Math.max(1.5, Math.min(6, Math.round(14 * Math.sqrt(view.kx)) / 2));
    this.lines(scene, first, past);
    this.edges(scene, first, Math.min(scene.shown, past + 1));
    this.path(scene, scene.other, palette.other, [5, 4]);
    this.path(scene, scene.chosen, palette.ink, []);
    this.nodes(scene, first, past);
    for (const node of [scene.pinned, scene.current]) if (node && node.block < scene.shown) this.ring(scene, node);
    this.axes(scene, first, past);
    this.stats.frames += 1;
    this.stats.milliseconds = performance.now() - began;
  }
  row(y) { return Math.max(0, Math.min(this.rows - 1, Math.round(y / CELL) + 1)); }

  edges({layout, view, palette, chosen, shown}, first, past) {
    // Many nodes in view: straight lines, one per pair of cells, and none to beams that did not go on.
    const {context} = this, narrow = COLUMN * view.kx < 8 || this.in_view(layout, view, first, past) > 1500;
    context.strokeStyle = palette.edge;
    context.lineWidth = narrow ? 0.7 : 1.1;
    for (let b = first; b < past; ++b) {
      ++this.stamp;
      context.beginPath();
      for (const node of layout.model.blocks[b]) {
        if (narrow && node.fate === "pruned" || chosen.has(node)) continue;
        const from = node.parent ?? ROOT, y = view.screen_y(node.y), from_y = view.screen_y(from.y);
        if (y < 0 && from_y < 0 || y > view.height && from_y > view.height) continue;
        const key = this.row(from_y) * this.rows + this.row(y);
        if (this.seen[key] === this.stamp && narrow) continue;
        this.seen[key] = this.stamp;
        this.curve(view.screen_x(from.x), from_y, view.screen_x(node.x), y, narrow);
        ++this.stats.edges;
      }
      context.stroke();
    }
  }
  in_view(layout, view, first, past) {
    const top = view.world_y(0), bottom = view.world_y(view.height);
    let count = 0;
    for (let b = first; b < past; ++b) for (const node of layout.model.blocks[b]) if (node.y >= top && node.y <= bottom) ++count;
    return count;
  }
  curve(x1, y1, x2, y2, straight) {
    this.context.moveTo(x1, y1);
    if (straight) this.context.lineTo(x2, y2);
    else this.context.bezierCurveTo((x1 + x2) / 2, y1, (x1 + x2) / 2, y2, x2, y2);
  }
  path({view, shown}, nodes, colour, dash) {
    const {context} = this;
    context.strokeStyle = colour;
    context.lineWidth = Math.max(1.2, Math.min(2.4, this.radius / 2));
    context.setLineDash(dash);
    context.beginPath();
    for (const node of nodes) {
      if (node.block >= shown) continue;
      const from = node.parent ?? ROOT;
      this.curve(view.screen_x(from.x), view.screen_y(from.y), view.screen_x(node.x), view.screen_y(node.y), false);
    }
    context.stroke();
    context.setLineDash([]);
  }
  // Buckets by fate and colour, so that each is filled at once; beams that went on cover those that did not.
  nodes({layout, view, palette, chosen}, first, past) {
    const steps = layout.model.contrast ? palette.rewards.length : 1, small = this.radius < 2.6, buckets = new Map(), labels = [];
    for (let b = first; b < past; ++b) {
      ++this.stamp;
      let last_label = -Infinity;
      for (const node of layout.model.blocks[b]) {
        const x = view.screen_x(node.x), y = view.screen_y(node.y);
        if (y < -8 || y > view.height + 8 || x < -8 || x > view.width + 8) continue;
        const lane = Math.max(0, Math.min(63, 32 + Math.round(node.lane * LANE * view.kx / CELL))), cell = this.row(y) * 64 + lane;
        if (this.seen[cell] === this.stamp && !chosen.has(node)) continue;
        this.seen[cell] = this.stamp;
        const order = node.fate === "finished" ? 2 : node.fate === "kept" ? 1 : 0;
        const key = order * 64 + (steps > 1 ? palette.step(node.reward, layout.full_reward) : 0);
        if (!buckets.has(key)) buckets.set(key, []);
        buckets.get(key).push(x, y);
        ++this.stats.nodes;
        if (node.copies.length > 1 && view.kx >= 0.42 && y - last_label > 10) {
          labels.push([`\u00d7${node.copies.length}`, x, y]);
          last_label = y;
        }
      }
    }
    for (const key of [...buckets.keys()].sort((a, b) => a - b))
      this.marks(buckets.get(key), Math.floor(key / 64), steps > 1 ? palette.rewards[key % 64] : key < 64 ? palette.faint : palette.plain, palette, small);
    this.labels(labels, palette);
  }
  marks(points, order, colour, palette, small) {
    const {context, radius} = this;
    if (small) {
      context.fillStyle = colour;
      context.globalAlpha = order ? 1 : 0.55;
      const size = 2 * radius;
      for (let i = 0; i < points.length; i += 2) context.fillRect(points[i] - radius, points[i + 1] - radius, size, size);
      context.globalAlpha = 1;
      return;
    }
    const mark = this.mark(order, colour, palette), half = mark.side / 2;
    for (let i = 0; i < points.length; i += 2) context.drawImage(mark.image, points[i] - half, points[i + 1] - half, mark.side, mark.side);
  }
  // A mark as an image: copying it thousands of times is much cheaper than filling as many paths.
  mark(order, colour, palette) {
    const ratio = window.devicePixelRatio || 1, {radius} = this, key = `${order} ${colour} ${palette.panel} ${radius} ${ratio}`;
    const known = this.images.get(key);
    if (known) return known;
    if (this.images.size > 400) this.images.clear();
    const side = Math.ceil(2 * radius + 4), canvas = new OffscreenCanvas(Math.ceil(side * ratio), Math.ceil(side * ratio)), brush = canvas.getContext("2d");
    brush.scale(ratio, ratio);
    brush.beginPath();
    if (order === 2) brush.rect(side / 2 - radius, side / 2 - radius, 2 * radius, 2 * radius);
    else brush.arc(side / 2, side / 2, order ? radius : radius - 0.6, 0, 2 * Math.PI);
    brush.fillStyle = order ? colour : palette.panel;
    brush.fill();
    brush.lineWidth = order ? 1.2 : 1.8;
    brush.strokeStyle = order ? palette.panel : colour;
    brush.stroke();
    const image = canvas.transferToImageBitmap(), made = {image, side};
    this.images.set(key, made);
    return made;
  }
  labels(labels, palette) {
    this.context.font = "10.5px system-ui, sans-serif";
    this.context.fillStyle = palette.ink;
    this.context.textAlign = "left";
    this.context.textBaseline = "middle";
    this.context.strokeStyle = palette.panel;
    this.context.lineWidth = 3;
    this.context.lineJoin = "round";
    for (const [text, x, y] of labels) for (const put of ["strokeText", "fillText"]) this.context[put](text, x + this.radius + 1, y - this.radius - 3);
  }
  ring({view, palette, current}, node) {
    const {context} = this, x = view.screen_x(node.x), y = view.screen_y(node.y);
    context.beginPath();
    context.arc(x, y, this.radius + 4, 0, 2 * Math.PI);
    context.lineWidth = 2.5;
    context.strokeStyle = node === current ? palette.accent : palette.other;
    context.stroke();
  }
  // The pruning line of each block: what is below it did not go on.
  lines({layout, view, palette, shown}, first, past) {
    const {context} = this;
    context.strokeStyle = palette.prune;
    context.lineWidth = 1.2;
    context.setLineDash([4, 3]);
    context.beginPath();
    for (let b = first; b < past; ++b) {
      const y = layout.lines[b];
      if (y === undefined) continue;
      context.moveTo(view.screen_x(layout.x_of(b) - 0.44 * COLUMN), view.screen_y(y));
      context.lineTo(view.screen_x(layout.x_of(b) + 0.44 * COLUMN), view.screen_y(y));
    }
    context.stroke();
    context.setLineDash([]);
  }
  axes({layout, view, palette, shown}, first, past) {
    const {context} = this;
    context.globalAlpha = 0.88;
    context.fillStyle = palette.panel;
    context.fillRect(0, 0, EDGE.left - 8, view.height);
    context.fillRect(0, 0, view.width, 20);
    context.globalAlpha = 1;
    context.fillStyle = palette.faint;
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "right";
    if (layout.vertical === "score") for (const {value, y, digits} of layout.ticks(34 / view.ky)) {
      const at = view.screen_y(y);
      if (at > 26 && at < view.height - 4) context.fillText(fixed(value, digits), EDGE.left - 12, at);
    }
    context.textAlign = "center";
    const every = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find(n => n * COLUMN * view.kx >= 30) ?? 5000;
    for (let b = first; b < past; ++b) {
      const x = view.screen_x(layout.x_of(b));
      if (((b + 1) % every === 0 || every === 1) && x > EDGE.left - 10) context.fillText(b + 1, x, 10);
    }
  }
}
