// Where nodes are: a column per block, and within it the higher the better the score. Scores are spread by a square root, so
// that the good ones, which are close together, get most of the room. Nodes that would cover each other move sideways.
const COLUMN = 84, HEIGHT = 520, LANE = 11, APART = 11, LANES = [0, 1, -1, 2, -2, 3, -3];

class TreeLayout {
  constructor(model, vertical = "score") {
    this.model = model;
    this.vertical = vertical;
    const values = model.blocks.flatMap(block => block.map(node => node.value));
    this.top = values.reduce((a, b) => Math.max(a, b), -Infinity);
    this.bottom = values.reduce((a, b) => Math.min(a, b), Infinity);
    if (!values.length) this.top = this.bottom = 0;
    if (this.top - this.bottom < 1e-9) this.bottom = this.top - 1;
    this.rows = model.blocks.reduce((most, block) => Math.max(most, block.length), 1);
    this.width = Math.max(1, model.blocks.length) * COLUMN;
    this.full_reward = this.reward_scale();
    for (const block of model.blocks) this.place(block);
    this.lines = model.blocks.map((_, number) => this.line_y(number));
  }
  y_of(value) { return HEIGHT * Math.sqrt(Math.max(0, (this.top - value) / (this.top - this.bottom))); }
  value_at(y) { return this.top - (this.top - this.bottom) * (y / HEIGHT) ** 2; }
  row_y(row) { return this.rows < 2 ? 0 : row * HEIGHT / (this.rows - 1); }
  x_of(block) { return (block + 0.5) * COLUMN; }

  place(block) {
    const lanes = LANES.map(() => -Infinity);  // the lowest node of each
    for (const node of block) {  // from the best down
      node.y = this.vertical === "score" ? this.y_of(node.value) : this.row_y(node.row);
      let lane = this.vertical === "score" ? lanes.findIndex(last => node.y - last >= APART) : 0;
      if (lane < 0) lane = lanes.indexOf(Math.min(...lanes));
      lanes[lane] = node.y;
      node.lane = LANES[lane];
      node.x = this.x_of(node.block) + node.lane * LANE;
    }
  }
  // The reward per token at which colours are strongest: nearly all nodes are below it.
  reward_scale() {
    const sizes = this.model.blocks.flatMap(block => block.map(node => Math.abs(node.reward))).sort((a, b) => a - b);
    return Math.max(0.05, sizes[Math.floor(0.95 * (sizes.length - 1))] ?? 0);
  }
  // Where the pruning line of a block is, or undefined.
  line_y(number) {
    const line = this.model.pruning_line(number);
    if (line === undefined) return undefined;
    if (this.vertical === "score") return this.y_of(line);
    const above = this.model.blocks[number].filter(node => node.value > line).length;
    return (this.row_y(above - 1) + this.row_y(above)) / 2;
  }
  // Round scores for the axis, at least `apart` units of y from one another.
  ticks(apart) {
    const found = [];
    for (let y = 0, last = Infinity; y <= HEIGHT && found.length < 400; ) {
      const here = this.value_at(y), gap = Math.max(1e-9, here - this.value_at(y + apart)), size = 10 ** Math.floor(Math.log10(gap));
      const step = size * [1, 2, 5, 10].find(factor => factor * size >= gap * 0.999), down = Math.floor(here / step + 1e-6);
      const value = (down * step < last - step / 2 ? down : down - 1) * step;
      if (value < this.bottom) break;
      y = this.y_of(last = value);
      found.push({value, y, digits: Math.max(0, -Math.floor(Math.log10(step) + 1e-9))});
      y += apart;
    }
    return found;
  }
}
