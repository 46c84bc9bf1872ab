// The words in which two texts differ.
const words_of = text => text.match(/\s+|[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu) || [];

// Which items of a and b belong to a longest common subsequence; arrays of booleans.
function common_items(a, b) {
  const in_a = new Array(a.length).fill(false), in_b = new Array(b.length).fill(false);
  let start = 0, end = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) in_a[start] = in_b[start++] = true;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end])
    in_a[a.length - 1 - end] = in_b[b.length - 1 - end++] = true;
  const rows = a.length - start - end, cells = b.length - start - end;
  if (rows * cells > 8e6) return undefined;
  const width = cells + 1, lengths = new Uint16Array((rows + 1) * width);
  for (let i = rows - 1; i >= 0; --i) for (let j = cells - 1; j >= 0; --j)
    lengths[i * width + j] = a[start + i] === b[start + j] ? lengths[(i + 1) * width + j + 1] + 1
      : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
  for (let i = 0, j = 0; i < rows && j < cells; ) {
    if (a[start + i] === b[start + j]) in_a[start + i++] = in_b[start + j++] = true;
    else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) ++i;
    else ++j;
  }
  return [in_a, in_b];
}
// Ranges of characters [from, to] of each text that the other lacks. Long texts are compared by lines.
function differing_ranges(a, b) {
  let left = words_of(a), right = words_of(b), common = common_items(left, right);
  if (!common) {
    [left, right] = [a.split(/(?<=\n)/), b.split(/(?<=\n)/)];
    common = common_items(left, right) || [left.map(() => false), right.map(() => false)];
  }
  return [left, right].map((items, side) => {
    const ranges = [];
    let at = 0;
    items.forEach((item, i) => {
      const from = at;
      at += item.length;
      if (common[side][i]) return;
      if (ranges.length && ranges.at(-1)[1] === from) ranges.at(-1)[1] = at;
      else ranges.push([from, at]);
    });
    return ranges;
  });
}
