// numpy, as far as the package uses it: contiguous arrays, of which leading rows are views and everything else copies.
"use strict";
(() => {
  const { Tuple, Slice, Ellipsis, Keywords, tuple, error, function: func } = $;
  const scalar = (title, kind, room, convert) => { const f = func(value => convert(Number(is(value) ? value.item() : value)), ["value"]); return Object.assign(f, { $title: title, kind, room, itemsize: room.BYTES_PER_ELEMENT || 8, $test: () => false }); };
  const same = x => x;
  const f8 = scalar("float64", "f", Float64Array, same), f4 = scalar("float32", "f", Float32Array, Math.fround), i8 = scalar("int64", "i", Float64Array, Math.trunc);
  const u4 = scalar("uintp", "u", Uint32Array, x => x >>> 0), b1 = scalar("bool", "b", Uint8Array, x => x ? 1 : 0), O = scalar("object", "O", Array, same);
  for (const each of [f8, f4, i8, u4, b1, O]) { each.type = each; each.toString = () => each.$title; }
  const dtype_of = given => given == null ? null : given.room ? given : given === $.builtins.float ? f8 : given === $.builtins.int ? i8 : given === $.builtins.bool ? b1 : O;
  const rank = new Map([[b1, 0], [i8, 1], [u4, 1], [f4, 2], [f8, 3], [O, 4]]);
  const is = value => value instanceof NdArray;
  const product = shape => { let n = 1; for (const each of shape) n *= each; return n; };
  const room_of = (dtype, n) => dtype === O ? new Array(n).fill(null) : new dtype.room(n);

  class NdArray {
    constructor(data, shape, dtype) { this.data = data; this.shape = shape instanceof Tuple ? shape : tuple(shape); this.dtype = dtype; }
    get size() { return product(this.shape); }
    get ndim() { return this.shape.length; }
    get T() { return this.transpose(); }
    get flags() { return {}; }
    get flat() { return new Flat(this); }
    get nbytes() { return this.data.length * this.dtype.itemsize; }
    get ctypes() { return { data: $.heap.address(this) }; }
    at(i) { return this.dtype === b1 ? !!this.data[i] : this.data[i]; }
    *[Symbol.iterator]() { for (let i = 0; i < this.shape[0]; i++) yield row(this, i); }
    item() { return this.at(0); }
    tolist() { return this.ndim === 0 ? this.at(0) : Array.from(this, each => is(each) ? each.tolist() : each); }
    tobytes() { return this.dtype.$title + Array.prototype.join.call(this.data, ","); }
    copy() { return new NdArray(this.data.slice(), this.shape, this.dtype); }
    flatten() { return new NdArray(this.data.slice(), [this.size], this.dtype); }
    ravel() { return new NdArray(this.data, [this.size], this.dtype); }
    astype(dtype) { return cast(this, dtype_of(dtype)); }
    reshape(...shape) {
      if (shape.length === 1 && Array.isArray(shape[0])) shape = [...shape[0]];
      const free = shape.indexOf(-1);
      if (free >= 0) shape[free] = this.size / product(shape.filter(each => each !== -1));
      if (product(shape) !== this.size) throw error("ValueError", `cannot reshape ${this.size} numbers into ${shape}`);
      return new NdArray(this.data, shape, this.dtype);
    }
    transpose(...axes) {
      if (axes.length === 1 && Array.isArray(axes[0])) axes = axes[0];
      if (!axes.length) axes = this.shape.map((_, i) => this.ndim - 1 - i);
      if (this.ndim < 2) return this;
      if (this.ndim === 2 && axes[0] === 1) return new Transposed(this);
      const steps = strides(this.shape), shape = axes.map(axis => this.shape[axis]), data = room_of(this.dtype, this.size);
      walk(shape, [axes.map(axis => steps[axis])], (i, from) => { data[i] = this.data[from]; });
      return new NdArray(data, shape, this.dtype);
    }
    diagonal() { const n = Math.min(...this.shape); return new NdArray(Float64Array.from({ length: n }, (_, i) => this.data[i * (this.shape[1] + 1)]), [n], this.dtype); }
    sum(axis, keepdims) { return reduce(this, axis, keepdims, 0, (a, b) => a + b, this.dtype === b1 ? i8 : this.dtype); }
    prod(axis) { return reduce(this, axis, false, 1, (a, b) => a * b, this.dtype); }
    max(axis, keepdims) { return extreme(this, axis, keepdims, (a, b) => a >= b || a !== a ? a : b); }
    min(axis, keepdims) { return extreme(this, axis, keepdims, (a, b) => a <= b || a !== a ? a : b); }
    mean(axis, keepdims) { return $.div(this.sum(axis, keepdims), axis == null ? this.size : this.shape[axis < 0 ? axis + this.ndim : axis]); }
    any(axis) { return axis == null ? this.data.some(Boolean) : reduce(this, axis, false, 0, (a, b) => a || b ? 1 : 0, b1); }
    all(axis) { return axis == null ? this.data.every(Boolean) : reduce(this, axis, false, 1, (a, b) => a && b ? 1 : 0, b1); }
    argmax(axis) { return argbest(this, axis, (a, b) => a > b); }
    argmin(axis) { return argbest(this, axis, (a, b) => a < b); }
    clip(low, high) { return np.clip(this, low, high); }
    round(digits) { return unary(this, x => $.builtins.round(x, digits || 0)); }
    fill(value) { this.data.fill(value); return null; }
    view() { return this; }
  }
  // A matrix on its side, laid out when its numbers are asked for: products take it as it is.
  class Transposed extends NdArray {
    constructor(source) { super(null, [source.shape[1], source.shape[0]], source.dtype); this.source = source; }
    get data() {
      if (this.laid === undefined) {
        const [n, m] = this.shape, x = this.source.data, data = room_of(this.dtype, n * m);
        for (let i = 0; i < n; i++) for (let j = 0; j < m; j++) data[i * m + j] = x[j * n + i];
        this.laid = data;
      }
      return this.laid;
    }
    set data(value) { if (value !== null) this.laid = value; }
  }
  Transposed.$native = true;
  NdArray.$native = true;
  NdArray.$test = is;
  for (const [name, names] of Object.entries({ sum: ["axis", "keepdims", "dtype"], prod: ["axis"], max: ["axis", "keepdims"], min: ["axis", "keepdims"], mean: ["axis", "keepdims"], any: ["axis"], all: ["axis"], argmax: ["axis"], argmin: ["axis"], clip: ["min", "max"], astype: ["dtype", "copy"], round: ["decimals"] }))
    NdArray.prototype[name].$names = names;
  class Flat {
    constructor(array) { this.array = array.ravel(); }
    __getitem__(index) { return get(this.array, index); }
    __setitem__(index, value) { return set(this.array, index, value); }
    [Symbol.iterator]() { return this.array[Symbol.iterator](); }
  }

  const strides = shape => { const steps = new Array(shape.length); let step = 1; for (let i = shape.length - 1; i >= 0; i--) { steps[i] = step; step *= shape[i]; } return steps; };
  // Every place of a shape in order, and where that is for each set of strides.
  function walk(shape, steps, visit) {
    const n = product(shape), dims = shape.length;
    if (n === 0) return;
    if (dims === 0) return visit(0, 0, 0);
    const at = new Array(dims).fill(0), last = shape[dims - 1], [a, b] = steps, sa = a[dims - 1], sb = b ? b[dims - 1] : 0;
    let oa = 0, ob = 0;
    for (let i = 0; i < n;) {
      for (let j = 0, pa = oa, pb = ob; j < last; j++, i++, pa += sa, pb += sb) visit(i, pa, pb);
      for (let d = dims - 2; d >= 0; d--) {
        oa += a[d]; if (b) ob += b[d];
        if (++at[d] < shape[d]) break;
        oa -= a[d] * shape[d]; if (b) ob -= b[d] * shape[d];
        at[d] = 0;
      }
    }
  }
  function row(a, i) {
    const n = a.shape[0];
    if (i < 0) i += n;
    if (!(i >= 0 && i < n)) throw error("IndexError", `index ${i} is out of ${n}`);
    if (a.ndim === 1) return a.at(i);
    const size = a.size / n;
    return new NdArray(a.dtype === O ? a.data.slice(i * size, (i + 1) * size) : a.data.subarray(i * size, (i + 1) * size), a.shape.slice(1), a.dtype);
  }
  const cast = (a, dtype) => {
    const data = room_of(dtype, a.size);
    if (dtype === O) for (let i = 0; i < a.size; i++) data[i] = a.at(i);
    else if (dtype === i8 && a.dtype !== i8) for (let i = 0; i < a.size; i++) data[i] = Math.trunc(a.data[i]);
    else if (dtype === b1) for (let i = 0; i < a.size; i++) data[i] = a.data[i] ? 1 : 0;
    else for (let i = 0; i < a.size; i++) data[i] = a.data[i];
    return new NdArray(data, a.shape, dtype);
  };
  function array(value, dtype) {
    dtype = dtype_of(dtype);
    if (is(value)) return dtype && dtype !== value.dtype ? cast(value, dtype) : value.copy();
    if (value instanceof Flat) return array(value.array, dtype);
    if (typeof value === "number" || typeof value === "boolean" || value === null || typeof value === "string") {
      const kind = dtype || (typeof value === "number" ? f8 : typeof value === "boolean" ? b1 : O);
      if (typeof value === "string" && kind !== O) value = $.builtins.float(value);
      if (kind !== O && value === null) throw error("TypeError", "None is no number");
      const data = room_of(kind, 1); data[0] = value;
      return new NdArray(data, [], kind);
    }
    const items = Array.isArray(value) ? value : [...$.iter(value)];
    if (items.length && (is(items[0]) || Array.isArray(items[0])) && dtype !== O) {
      const parts = items.map(each => array(each, dtype));
      return np.stack(parts);
    }
    const kind = dtype || (items.length && items.every(each => typeof each === "boolean") ? b1 : items.every(each => typeof each === "number" || typeof each === "boolean" || (is(each) && each.size === 1)) ? f8 : O);
    const data = room_of(kind, items.length);
    for (let i = 0; i < items.length; i++) data[i] = kind !== O && typeof items[i] === "string" ? $.builtins.float(items[i]) : is(items[i]) ? items[i].item() : items[i];
    return new NdArray(data, [items.length], kind);
  }
  const asarray = (value, dtype) => is(value) && (dtype == null || dtype_of(dtype) === value.dtype) ? value : array(value, dtype);
  const made = (n, dtype, fill) => { const data = new dtype.room(n); for (let i = 0; i < n; i++) data[i] = fill(i); return new NdArray(data, [n], dtype); };

  // Operators, broadcasting. A number does not change the type of an array, another array may.
  const compares = { lt: 1, le: 1, gt: 1, ge: 1, eq: 1 };
  const formulas = { ...$.number_binary, eq: (a, b) => a === b, and: (a, b) => a & b, or: (a, b) => a | b, xor: (a, b) => a ^ b };
  function common(a, b) {
    if (!is(a)) return weak(b.dtype, a);
    if (!is(b)) return weak(a.dtype, b);
    if (rank.get(a.dtype) + rank.get(b.dtype) === 3 && (a.dtype === i8 || b.dtype === i8)) return f8; // int64 and float32
    return rank.get(a.dtype) >= rank.get(b.dtype) ? a.dtype : b.dtype;
  }
  const weak = (dtype, number) => dtype === b1 ? typeof number === "boolean" ? b1 : Number.isInteger(number) ? i8 : f8 : dtype === i8 && !Number.isInteger(number) && typeof number === "number" ? f8 : dtype;
  function operator(name, a, b) {
    if (name === "matmul") return matmul(a, b);
    if (Array.isArray(a)) a = array(a); if (Array.isArray(b)) b = array(b);
    if (a === null || b === null || typeof a === "string" || typeof b === "string") { if (name !== "eq") throw error("TypeError", `${name} of an array and no number`); return unary(is(a) ? a : b, x => x === (is(a) ? b : a) ? 1 : 0, b1); }
    let dtype = compares[name] ? b1 : common(a, b);
    if (name === "div" && (dtype === i8 || dtype === b1)) dtype = f8;
    if (name === "pow" && dtype === i8 && !(is(b) ? b.data.every(x => x >= 0) : b >= 0)) dtype = f8;
    if (dtype === b1 && name in { sub: 1, mul: 1, add: 1 }) return elementwise(formulas[{ add: "or", mul: "and", sub: "xor" }[name]], a, b, b1);
    return (loops[name] || elementwise)(formulas[name], a, b, dtype);
  }
  function broadcast(...shapes) {
    const dims = Math.max(...shapes.map(shape => shape.length)), result = new Array(dims).fill(1);
    for (const shape of shapes)
      shape.forEach((n, i) => {
        const at = i + dims - shape.length;
        if (n !== 1) { if (result[at] !== 1 && result[at] !== n) throw error("ValueError", `shapes ${shapes.map(s => `(${s})`).join(" and ")} do not fit`); result[at] = n; }
      });
    return result;
  }
  const steps_in = (shape, to) => { const own = strides(shape); return to.map((_, i) => { const at = i - to.length + shape.length; return at < 0 || shape[at] === 1 ? 0 : own[at]; }); };
  const alike = (a, b) => a.length === b.length && a.every((n, i) => n === b[i]);
  function elementwise(f, a, b, dtype, out) {
    if (!is(a)) {
      const number = Number(a), y = b.data, data = out || room_of(dtype, y.length);
      for (let i = 0; i < y.length; i++) data[i] = f(number, y[i]);
      return new NdArray(data, b.shape, dtype);
    }
    if (!is(b)) {
      const number = Number(b), x = a.data, data = out || room_of(dtype, x.length);
      for (let i = 0; i < x.length; i++) data[i] = f(x[i], number);
      return new NdArray(data, a.shape, dtype);
    }
    const x = a.data, y = b.data;
    if (alike(a.shape, b.shape)) {
      const data = out || room_of(dtype, x.length);
      for (let i = 0; i < x.length; i++) data[i] = f(x[i], y[i]);
      return new NdArray(data, a.shape, dtype);
    }
    const shape = broadcast(a.shape, b.shape), data = out || room_of(dtype, product(shape));
    if (shape.length === 2) {
      const [n, m] = shape, [ar, ac] = steps_in(a.shape, shape), [br, bc] = steps_in(b.shape, shape);
      for (let i = 0, o = 0; i < n; i++) for (let j = 0, p = i * ar, q = i * br; j < m; j++, o++, p += ac, q += bc) data[o] = f(x[p], y[q]);
      return new NdArray(data, shape, dtype);
    }
    walk(shape, [steps_in(a.shape, shape), steps_in(b.shape, shape)], (i, p, q) => { data[i] = f(x[p], y[q]); });
    return new NdArray(data, shape, dtype);
  }
  // LOOPS: build.py writes a copy of `elementwise` for every common operator, with its formula in the place of f.
  const loops = {};
  function inplace(name, a, b) {
    if (name === "matmul") return operator(name, a, b);
    if (Array.isArray(b)) b = array(b);
    (loops[name] || elementwise)(formulas[name], a, is(b) && !alike(a.shape, b.shape) ? np.broadcast_to(b, a.shape) : b, a.dtype, a.data);
    return a;
  }
  const unary = (a, f, dtype) => {
    if (!is(a)) a = array(a);
    const to = dtype || (a.dtype === f4 ? f4 : f8), data = room_of(to, a.size), x = a.data;
    for (let i = 0; i < x.length; i++) data[i] = f(x[i]);
    return new NdArray(data, a.shape, to);
  };
  const kept = (a, f) => unary(a, f, is(a) ? a.dtype === b1 ? i8 : a.dtype : undefined);
  const of_array = name => a => name === "neg" ? kept(a, x => -x) : name === "abs" ? kept(a, Math.abs) : a.dtype === b1 ? unary(a, x => x ? 0 : 1, b1) : unary(a, x => ~x, a.dtype);

  // Reductions along one axis: [outer, n, inner].
  function along(a, axis) {
    const at = axis < 0 ? axis + a.ndim : axis;
    return [at, product(a.shape.slice(0, at)), a.shape[at], product(a.shape.slice(at + 1))];
  }
  function reduce(a, axis, keepdims, start, f, dtype) {
    if (axis == null) {
      let total = start;
      for (let i = 0; i < a.data.length; i++) total = f(total, a.data[i]);
      if (dtype === f4) total = Math.fround(total);
      return keepdims ? new NdArray(Float64Array.of(total), a.shape.map(() => 1), f8) : total;
    }
    const [at, outer, n, inner] = along(a, axis), data = new Float64Array(outer * inner).fill(start), x = a.data;
    for (let o = 0; o < outer; o++) for (let k = 0; k < n; k++) for (let i = 0; i < inner; i++) data[o * inner + i] = f(data[o * inner + i], x[(o * n + k) * inner + i]);
    const shape = [...a.shape]; if (keepdims) shape[at] = 1; else shape.splice(at, 1);
    const found = new NdArray(dtype.room === Float64Array ? data : Array.isArray(data) ? data : dtype.room.from(data), shape, dtype);
    return found;
  }
  function extreme(a, axis, keepdims, f) {
    if (a.size === 0) throw error("ValueError", "no largest or smallest of nothing");
    if (axis == null) { let best = a.data[0]; for (let i = 1; i < a.data.length; i++) best = f(best, a.data[i]); return a.dtype === b1 ? !!best : best; }
    const [at, outer, n, inner] = along(a, axis), data = room_of(a.dtype, outer * inner), x = a.data;
    for (let o = 0; o < outer; o++) for (let i = 0; i < inner; i++) {
      let best = x[o * n * inner + i];
      for (let k = 1; k < n; k++) best = f(best, x[(o * n + k) * inner + i]);
      data[o * inner + i] = best;
    }
    const shape = [...a.shape]; if (keepdims) shape[at] = 1; else shape.splice(at, 1);
    return new NdArray(data, shape, a.dtype);
  }
  function argbest(a, axis, better) {
    if (axis == null) { let best = 0; for (let i = 1; i < a.size; i++) if (better(a.data[i], a.data[best])) best = i; return best; }
    const [at, outer, n, inner] = along(a, axis), data = new Float64Array(outer * inner), x = a.data;
    if (a.dtype === b1 && inner === 1) for (let o = 0; o < outer; o++) { const first = x.indexOf(better(1, 0) ? 1 : 0, o * n) - o * n; data[o] = first >= 0 && first < n ? first : 0; }
    else for (let o = 0; o < outer; o++) for (let i = 0; i < inner; i++) {
      let best = 0;
      for (let k = 1; k < n; k++) if (better(x[(o * n + k) * inner + i], x[(o * n + best) * inner + i])) best = k;
      data[o * inner + i] = best;
    }
    const shape = [...a.shape]; shape.splice(at, 1);
    return new NdArray(data, shape, i8);
  }
  function running(a, axis, f) {
    a = asarray(a);
    if (axis == null) { a = a.ravel(); axis = 0; }
    const [, outer, n, inner] = along(a, axis), result = a.dtype === b1 ? cast(a, i8) : a.copy(), x = result.data;
    for (let o = 0; o < outer; o++) for (let k = 1; k < n; k++) for (let i = 0; i < inner; i++) { const p = (o * n + k) * inner + i; x[p] = f(x[p - inner], x[p]); }
    return result;
  }

  // Items: the places in memory that an index names, and their shape.
  function places(a, index) {
    let items = index instanceof Tuple ? [...index] : [index];
    if (items.includes(Ellipsis)) {
      const used = items.filter(each => each !== Ellipsis && each !== null).reduce((n, each) => n + (is(each) && each.dtype === b1 ? each.ndim : 1), 0), at = items.indexOf(Ellipsis);
      items.splice(at, 1, ...new Array(a.ndim - used).fill(new Slice(null, null, null)));
    }
    items = items.flatMap(each => {
      if (Array.isArray(each)) each = array(each);
      if (is(each) && each.dtype === b1) {
        const hits = np.flatnonzero(each);
        if (each.ndim <= 1) return [hits];
        const steps = strides(each.shape);
        return each.shape.map((n, d) => unary(hits, x => Math.floor(x / steps[d]) % n, i8));
      }
      return [is(each) && each.ndim === 0 ? each.item() : each];
    });
    while (items.filter(each => each !== null).length < a.ndim) items.push(new Slice(null, null, null));
    const steps = strides(a.shape), groups = [];
    let axis = 0, advanced = null;
    for (const each of items) {
      if (each === null) { groups.push({ shape: [1], at: [0] }); continue; }
      const n = a.shape[axis], step = steps[axis];
      if (each instanceof Slice) {
        const [start, by, count] = each.over(n), at = new Int32Array(count);
        for (let i = 0; i < count; i++) at[i] = (start + i * by) * step;
        groups.push({ shape: [count], at });
      } else if (is(each)) {
        const at = new Int32Array(each.size);
        for (let k = 0; k < at.length; k++) { const i = each.data[k], j = i < 0 ? i + n : i; if (!(j >= 0 && j < n)) throw error("IndexError", `index ${i} is out of ${n}`); at[k] = j * step; }
        if (!advanced) groups.push(advanced = { shape: [...each.shape], at });
        else {
          const shape = broadcast(advanced.shape, each.shape), joined = new Int32Array(product(shape)), before = advanced.at;
          walk(shape, [steps_in(advanced.shape, shape), steps_in([...each.shape], shape)], (i, p, q) => { joined[i] = before[p] + at[q]; });
          Object.assign(advanced, { shape, at: joined });
        }
      } else {
        const i = Number(each), j = i < 0 ? i + n : i;
        if (!(j >= 0 && j < n)) throw error("IndexError", `index ${i} is out of ${n}`);
        groups.push({ shape: [], at: [j * step] });
      }
      axis++;
    }
    let at = [0];
    for (const group of groups) {
      if (group.at.length === 1 && group.at[0] === 0) continue;
      if (at.length === 1) { const base = at[0]; at = base ? group.at.map(p => p + base) : group.at; continue; }
      const next = new Int32Array(at.length * group.at.length), more = group.at, m = more.length;
      for (let i = 0, k = 0; i < at.length; i++) for (let j = 0; j < m; j++) next[k++] = at[i] + more[j];
      at = next;
    }
    return { shape: groups.flatMap(group => group.shape), at };
  }
  function get(a, index) {
    if (typeof index === "number") return row(a, index);
    if (index instanceof Slice && (index.step == null || index.step === 1) && a.ndim > 0 && a.dtype !== O) {
      const [start, , count] = index.over(a.shape[0]), size = a.size / (a.shape[0] || 1);
      return new NdArray(a.data.subarray(start * size, (start + count) * size), [count, ...a.shape.slice(1)], a.dtype);
    }
    if (index instanceof Tuple && index.every(each => each === null || each === Ellipsis || (each instanceof Slice && each.start === null && each.stop === null && each.step === null))) {
      const after = index.indexOf(Ellipsis) < 0 ? 0 : index.length - 1 - index.indexOf(Ellipsis), last = index.slice(index.length - after).filter(each => each !== null).length; // only axes of length 1 are added
      const shape = [];
      let axis = 0;
      for (const each of index) {
        if (each === null) shape.push(1);
        else if (each === Ellipsis) while (axis < a.ndim - last) shape.push(a.shape[axis++]);
        else shape.push(a.shape[axis++]);
      }
      while (axis < a.ndim) shape.push(a.shape[axis++]);
      return new NdArray(a.data, shape, a.dtype);
    }
    const { shape, at } = places(a, index), x = a.data;
    if (shape.length === 0) return a.at(at[0]);
    const data = room_of(a.dtype, at.length);
    for (let i = 0; i < at.length; i++) data[i] = x[at[i]];
    return new NdArray(data, shape, a.dtype);
  }
  function set(a, index, value) {
    const { shape, at } = places(a, index), x = a.data;
    if (Array.isArray(value) || (value !== null && typeof value === "object" && !is(value))) value = array(value, a.dtype);
    if (!is(value)) for (const p of at) x[p] = value;
    else if (value.size === 1) { const only = value.data[0]; for (const p of at) x[p] = only; }
    else if (alike(value.shape, shape)) for (let i = 0; i < at.length; i++) x[at[i]] = value.data[i];
    else { const wide = np.broadcast_to(value, shape).data; for (let i = 0; i < at.length; i++) x[at[i]] = wide[i]; }
    if (a.dtype === i8 && is(value) && value.dtype !== i8) for (const p of at) x[p] = Math.trunc(x[p]);
    return value;
  }
  function matmul(a, b) {
    if (!is(a)) a = array(a); if (!is(b)) b = array(b);
    if (a.ndim === 1 && b.ndim === 1) {
      if (a.size !== b.size) throw error("ValueError", `@ of ${a.size} and ${b.size} numbers`);
      let total = 0; for (let i = 0; i < a.size; i++) total += a.data[i] * b.data[i];
      return common(a, b) === f4 ? Math.fround(total) : total;
    }
    const dtype = common(a, b), left = a.ndim === 1 ? [1, a.size] : [a.size / a.shape[a.ndim - 1], a.shape[a.ndim - 1]];
    if (b.ndim > 2) { // a stack of matrices
      const n = b.shape.length, size = product(b.shape.slice(-2)), rows = a.ndim === 1 ? 1 : a.shape[a.ndim - 2], parts = [];
      for (let s = 0; s < b.size / size; s++) {
        const mine = a.ndim <= 2 ? a : new NdArray(a.data.subarray(s * rows * left[1], (s + 1) * rows * left[1]), [rows, left[1]], a.dtype);
        parts.push(matmul(mine, new NdArray(b.data.subarray(s * size, (s + 1) * size), b.shape.slice(-2), b.dtype)));
      }
      return np.stack(parts).reshape([...b.shape.slice(0, n - 2), ...parts[0].shape]);
    }
    const [m, k] = left, n = b.ndim === 1 ? 1 : b.shape[1], x = a.data, data = new dtype.room(m * n), sums = new Float64Array(n);
    if (k !== b.shape[0]) throw error("ValueError", `@ of shapes (${a.shape}) and (${b.shape})`);
    if (b instanceof Transposed && b.laid === undefined) {
      const z = b.source.data;
      for (let i = 0; i < m; i++) for (let j = 0; j < n; j++) { let total = 0; for (let c = 0, p = i * k, q = j * k; c < k; c++) total += x[p + c] * z[q + c]; data[i * n + j] = total; }
      return new NdArray(data, [...(a.ndim === 1 ? [] : a.shape.slice(0, -1)), n], dtype);
    }
    const y = b.data;
    for (let i = 0; i < m; i++) {
      if (n === 1) { let total = 0; for (let c = 0; c < k; c++) total += x[i * k + c] * y[c]; data[i] = total; continue; }
      sums.fill(0);
      for (let c = 0; c < k; c++) { const w = x[i * k + c]; if (w !== 0) for (let j = 0, p = c * n; j < n; j++) sums[j] += w * y[p + j]; }
      for (let j = 0; j < n; j++) data[i * n + j] = sums[j];
    }
    const shape = [...(a.ndim === 1 ? [] : a.shape.slice(0, -1)), ...(b.ndim === 1 ? [] : [n])];
    return new NdArray(data, shape, dtype);
  }

  const np = {};
  const add = (name, names, f) => { np[name] = func(f, names); f.$title = name; };
  // Functions of one number.
  const ones = {
    exp: Math.exp, log: Math.log, sqrt: Math.sqrt, log1p: Math.log1p, expm1: Math.expm1, log2: Math.log2, exp2: x => 2 ** x, arcsin: Math.asin, sin: Math.sin, cos: Math.cos,
    arcsinh: Math.asinh, tanh: Math.tanh, floor: Math.floor, ceil: Math.ceil, square: x => x * x, sign: Math.sign,
    rint: x => { const r = Math.round(x); return Math.abs(x - Math.trunc(x)) === 0.5 && r % 2 !== 0 ? r - 1 : r; },
  };
  for (const [name, f] of Object.entries(ones))
    add(name, ["x", "out", "where"], (x, out, where) => {
      if (typeof x === "number" || typeof x === "boolean") return f(Number(x));
      x = asarray(x);
      if (x.ndim === 0 && !out) return f(x.data[0]);
      if (!out) return unary(x, f);
      for (let i = 0; i < x.size; i++) if (!where || where.data[i]) out.data[i] = f(x.data[i]);
      return out;
    });
  const tests = { isnan: x => x !== x, isfinite: Number.isFinite, isinf: x => x === Infinity || x === -Infinity, isneginf: x => x === -Infinity, isposinf: x => x === Infinity };
  for (const [name, f] of Object.entries(tests)) add(name, ["x"], x => typeof x === "number" ? f(x) : (x = asarray(x), x.ndim === 0 ? f(x.data[0]) : unary(x, v => f(v) ? 1 : 0, b1)));
  add("abs", ["x"], x => typeof x === "number" ? Math.abs(x) : kept(asarray(x), Math.abs));
  add("negative", ["x"], x => $.neg(x));
  const simple = x => is(x) && x.ndim === 0 ? x.item() : x;
  const twos = { maximum: (a, b) => a !== a || a > b ? a : b, minimum: (a, b) => a !== a || a < b ? a : b, hypot: Math.hypot, divide: (a, b) => a / b, true_divide: (a, b) => a / b };
  for (const [name, f] of Object.entries(twos))
    add(name, ["a", "b", "out", "where"], (a, b, out, where) => {
      a = simple(Array.isArray(a) ? array(a) : a); b = simple(Array.isArray(b) ? array(b) : b);
      if (!is(a) && !is(b)) return f(Number(a), Number(b));
      const dtype = name === "hypot" || name.endsWith("divide") ? (common(a, b) === f4 ? f4 : f8) : common(a, b);
      if (where) {
        const found = elementwise(f, a, b, dtype);
        for (let i = 0; i < out.size; i++) if (where.data[i]) out.data[i] = found.data[i];
        return out;
      }
      const found = (loops[name] || elementwise)(f, a, b, dtype, out && out.data);
      return out || found;
    });
  for (const [name, op] of Object.entries({ add: "add", subtract: "sub", multiply: "mul", power: "pow", equal: "eq", less: "lt", less_equal: "le", greater: "gt", greater_equal: "ge", bitwise_and: "and", bitwise_or: "or" }))
    add(name, ["a", "b"], (a, b) => { if (Array.isArray(a)) a = array(a); return $[op](a, b); });
  add("invert", ["x"], x => $.invert(x));
  Object.assign(np.add, {
    reduce: func((a, axis = 0, keepdims) => a.sum(axis, keepdims), ["a", "axis", "keepdims"]),
    reduceat: func((a, starts, axis = -1) => {
      const [at, outer, n, inner] = along(a, axis), k = asarray(starts), m = k.size, data = room_of(a.dtype, outer * m * inner), x = a.data;
      for (let o = 0; o < outer; o++) for (let g = 0; g < m; g++) {
        const first = k.data[g], end = g + 1 < m ? k.data[g + 1] : n;
        for (let i = 0; i < inner; i++) { let total = x[(o * n + first) * inner + i]; for (let j = first + 1; j < end; j++) total += x[(o * n + j) * inner + i]; data[(o * m + g) * inner + i] = total; }
      }
      const shape = [...a.shape]; shape[at] = m;
      return new NdArray(data, shape, a.dtype);
    }, ["a", "indices", "axis"]),
  });
  Object.assign(np.maximum, { reduce: func((a, axis = 0, keepdims) => a.max(axis, keepdims), ["a", "axis", "keepdims"]), accumulate: a => running(a, 0, Math.max) });
  // Making arrays.
  const shaped = shape => Array.isArray(shape) ? [...shape] : is(shape) ? shape.tolist() : [shape];
  const filled = (shape, dtype, value) => { shape = shaped(shape); const data = room_of(dtype, product(shape)); if (value !== 0 || dtype === O) data.fill(value); return new NdArray(data, shape, dtype); };
  add("array", ["object", "dtype", "order", "copy"], (value, dtype) => array(value, dtype));
  add("asarray", ["a", "dtype"], asarray);
  add("ascontiguousarray", ["a", "dtype"], asarray);
  add("zeros", ["shape", "dtype"], (shape, dtype) => filled(shape, dtype_of(dtype) || f8, 0));
  add("empty", ["shape", "dtype"], (shape, dtype) => filled(shape, dtype_of(dtype) || f8, dtype_of(dtype) === O ? null : 0));
  add("ones", ["shape", "dtype"], (shape, dtype) => filled(shape, dtype_of(dtype) || f8, 1));
  add("full", ["shape", "fill_value", "dtype"], (shape, value, dtype) => {
    if (is(value) && value.size > 1) return np.broadcast_to(dtype ? cast(value, dtype_of(dtype)) : value, shaped(shape)).copy();
    if (is(value)) value = value.item();
    return filled(shape, dtype_of(dtype) || (typeof value === "number" ? f8 : typeof value === "boolean" ? b1 : O), value);
  });
  add("zeros_like", ["a", "dtype"], (a, dtype) => { a = asarray(a); return filled(a.shape, dtype_of(dtype) || a.dtype, 0); });
  add("ones_like", ["a"], a => filled(asarray(a).shape, asarray(a).dtype, 1));
  add("empty_like", ["a"], a => filled(a.shape, a.dtype, 0));
  add("arange", ["start", "stop", "step", "dtype"], (start, stop, step = 1, dtype) => {
    if (stop == null) [start, stop] = [0, start];
    const n = Math.max(0, Math.ceil((stop - start) / step)), whole = [start, stop, step].every(Number.isInteger);
    return made(n, dtype_of(dtype) || (whole ? i8 : f8), i => start + i * step);
  });
  add("linspace", ["start", "stop", "num"], (a, b, n = 50) => { a = Number(simple(a)); b = Number(simple(b)); return made(n, f8, i => i === n - 1 && n > 1 ? b : a + i * ((b - a) / (n - 1))); });
  add("geomspace", ["start", "stop", "num"], (a, b, n = 50) => { const low = Math.log10(a), high = Math.log10(b); return made(n, f8, i => i === 0 ? a : i === n - 1 ? b : 10 ** (low + i * ((high - low) / (n - 1)))); });
  add("eye", ["n"], n => { const a = filled([n, n], f8, 0); for (let i = 0; i < n; i++) a.data[i * (n + 1)] = 1; return a; });
  add("diag", ["v"], v => { if (v.ndim === 2) return v.diagonal(); const n = v.size, a = filled([n, n], f8, 0); for (let i = 0; i < n; i++) a.data[i * (n + 1)] = v.data[i]; return a; });
  add("fromiter", ["iterable", "dtype", "count"], (items, dtype) => array([...$.iter(items)], dtype));
  add("atleast_1d", ["a"], a => { a = asarray(a); return a.ndim ? a : a.reshape(1); });
  add("ravel", ["a"], a => asarray(a).ravel());
  add("shape", ["a"], a => is(a) ? a.shape : Array.isArray(a) ? array(a).shape : tuple([]));
  add("size", ["a"], a => asarray(a).size);
  add("copy", ["a"], a => asarray(a).copy());
  add("broadcast_shapes", ["a", "b"], (...shapes) => tuple(broadcast(...shapes)));
  add("broadcast_to", ["a", "shape"], (a, shape) => {
    a = asarray(a); shape = shaped(shape);
    if (alike(a.shape, shape)) return a;
    broadcast(a.shape, shape);
    const data = room_of(a.dtype, product(shape)), x = a.data;
    if (a.ndim <= 1 || a.shape.length < shape.length && product(shape) % a.size === 0 && alike(a.shape, shape.slice(-a.ndim))) { // repeated as a whole, or one number
      if (x.length === 1) data.fill(x[0]);
      else for (let o = 0; o < data.length; o += x.length) for (let i = 0; i < x.length; i++) data[o + i] = x[i];
      return new NdArray(data, shape, a.dtype);
    }
    walk(shape, [steps_in(a.shape, shape)], (i, p) => { data[i] = x[p]; });
    return new NdArray(data, shape, a.dtype);
  });
  add("broadcast_arrays", [], (...arrays) => { arrays = arrays.map(each => asarray(each)); const shape = broadcast(...arrays.map(each => each.shape)); return arrays.map(each => np.broadcast_to(each, shape)); });
  // Putting together and taking apart.
  const widest = parts => parts.map(part => part.dtype).reduce((a, b) => common({ __proto__: NdArray.prototype, dtype: a }, { __proto__: NdArray.prototype, dtype: b }));
  add("concatenate", ["arrays", "axis"], (arrays, axis = 0) => {
    const parts = [...$.iter(arrays)].map(each => asarray(each)), full = parts.filter(part => part.size || part.ndim > 1), dtype = widest(full.length ? full : parts);
    const at = axis < 0 ? axis + parts[0].ndim : axis, outer = product(parts[0].shape.slice(0, at)), inner = product(parts[0].shape.slice(at + 1));
    const n = parts.reduce((total, part) => total + part.shape[at], 0), data = room_of(dtype, outer * n * inner);
    let first = 0;
    for (const part of parts) {
      const width = part.shape[at] * inner;
      for (let o = 0; o < outer; o++) for (let i = 0; i < width; i++) data[o * n * inner + first + i] = part.data[o * width + i];
      first += width;
    }
    const shape = [...parts[0].shape]; shape[at] = n;
    return new NdArray(data, shape, dtype);
  });
  add("stack", ["arrays", "axis"], (arrays, axis = 0) => {
    const parts = [...$.iter(arrays)].map(each => asarray(each));
    if (parts.some(part => !alike(part.shape, parts[0].shape))) throw error("ValueError", "arrays of several shapes");
    const at = axis < 0 ? axis + parts[0].ndim + 1 : axis;
    return np.concatenate(parts.map(part => part.reshape([...part.shape.slice(0, at), 1, ...part.shape.slice(at)])), at);
  });
  add("append", ["a", "values"], (a, b) => np.concatenate([np.atleast_1d(a).ravel(), np.atleast_1d(b).ravel()]));
  add("split", ["a", "indices"], (a, at) => { const cuts = [0, ...$.iter(at), a.shape[0]]; return cuts.slice(1).map((end, i) => get(a, new Slice(cuts[i], end, null))); });
  add("array_split", ["a", "parts", "axis"], (a, parts, axis = 0) => {
    a = asarray(a);
    const n = a.shape[axis], size = Math.floor(n / parts), extra = n % parts, found = [];
    for (let i = 0, start = 0; i < parts; i++) { const end = start + size + (i < extra ? 1 : 0); found.push(get(a, tuple([...new Array(axis).fill(new Slice(null, null, null)), new Slice(start, end, null)]))); start = end; }
    return found;
  });
  add("repeat", ["a", "repeats", "axis"], (a, repeats, axis) => {
    a = asarray(a); if (axis == null) { a = a.ravel(); axis = 0; }
    const n = a.shape[axis < 0 ? axis + a.ndim : axis], index = [];
    for (let i = 0; i < n; i++) { const times = is(repeats) ? repeats.data[i] : repeats; for (let k = 0; k < times; k++) index.push(i); }
    return np.take(a, array(index, i8), axis);
  });
  add("take", ["a", "indices", "axis"], (a, index, axis = 0) => { const at = axis < 0 ? axis + a.ndim : axis; return get(a, tuple([...new Array(at).fill(new Slice(null, null, null)), asarray(index)])); });
  add("take_along_axis", ["a", "indices", "axis"], (a, index) => { const n = a.shape[a.ndim - 1], m = index.shape[index.ndim - 1], data = room_of(a.dtype, index.size); for (let i = 0; i < data.length; i++) data[i] = a.data[Math.floor(i / m) * n + index.data[i]]; return new NdArray(data, index.shape, a.dtype); });
  add("tile", ["a", "reps"], (a, times) => np.concatenate(new Array(times).fill(a)));
  add("roll", ["a", "shift", "axis"], (a, shift, axis = 0) => { const n = a.shape[axis]; return np.take(a, made(n, i8, i => (i - shift + n) % n), axis); });
  add("pad", ["a", "width", "mode", "constant_values"], (a, width, mode, value = 0) => {
    const [[t, b], [l, r]] = width, [m, n] = a.shape, result = filled([m + t + b, n + l + r], a.dtype, value);
    for (let i = 0; i < m; i++) for (let j = 0; j < n; j++) result.data[(i + t) * (n + l + r) + j + l] = a.data[i * n + j];
    return result;
  });
  add("where", ["condition", "x", "y"], (condition, x, y) => {
    if (x === undefined) return tuple([np.flatnonzero(condition)]);
    const parts = [asarray(condition), asarray(x), asarray(y)];
    const dtype = is(x) && is(y) ? common(x, y) : is(x) ? (y === null ? O : common(x, simple(y))) : is(y) ? (x === null ? O : common(simple(x), y)) : parts[1].dtype === O || parts[2].dtype === O ? O : parts[1].dtype === b1 && parts[2].dtype === b1 ? b1 : f8;
    if (parts.every(part => part.ndim === 0)) return parts[parts[0].data[0] ? 1 : 2].at(0);
    const shape = broadcast(...parts.map(part => part.shape)), data = room_of(dtype, product(shape));
    if (shape.length <= 2 && dtype !== O && parts[0].dtype !== O) {
      const [n, m] = shape.length === 2 ? shape : [1, shape[0]], [[cr, cc], [ar, ac], [br, bc]] = parts.map(part => steps_in(part.shape, [n, m])), [c, a, b] = parts.map(part => part.data);
      for (let i = 0, o = 0; i < n; i++) for (let j = 0; j < m; j++, o++) data[o] = c[i * cr + j * cc] ? a[i * ar + j * ac] : b[i * br + j * bc];
      return new NdArray(data, shape, dtype);
    }
    const [c, a, b] = parts.map(part => part.size === 1 ? null : np.broadcast_to(part, shape).data), [c0, a0, b0] = parts.map(part => part.at(0));
    for (let i = 0; i < data.length; i++) data[i] = (c ? c[i] : c0) ? (a ? a[i] : a0) : (b ? b[i] : b0);
    return new NdArray(data, shape, dtype);
  });
  add("clip", ["a", "low", "high"], (a, low, high) => np.minimum(np.maximum(a, low), high));
  add("nan_to_num", ["a", "nan"], (a, nan = 0) => unary(a, x => x !== x ? nan : x));
  add("round", ["a", "decimals"], (a, digits) => typeof a === "number" ? $.builtins.round(a, digits) : digits ? a.round(digits) : unary(a, ones.rint));
  for (const name of ["sum", "prod", "max", "min", "any", "all", "argmin", "argmax", "mean"])
    add(name, ["a", "axis", "keepdims", "initial"], (a, axis, keepdims, initial) => { a = typeof a === "boolean" || typeof a === "number" ? array(a) : asarray(a); if (a.size === 0 && initial !== undefined) return initial; return a[name](axis, keepdims); });
  add("cumsum", ["a", "axis"], (a, axis) => running(a, axis, (x, y) => x + y));
  add("cumprod", ["a", "axis"], (a, axis) => running(a, axis, (x, y) => x * y));
  add("ptp", ["a"], a => a.max() - a.min());
  add("diff", ["a", "n", "axis", "prepend", "append"], (a, n, axis = -1, prepend, append) => {
    a = asarray(a);
    const edge = value => is(value) && value.ndim === a.ndim ? value : filled(a.shape.map((size, i) => i === (axis < 0 ? axis + a.ndim : axis) ? 1 : size), a.dtype, Number(simple(value)));
    const parts = [...(prepend === undefined ? [] : [edge(prepend)]), a, ...(append === undefined ? [] : [edge(append)])];
    if (parts.length > 1) a = np.concatenate(parts, axis);
    const [at, outer, size, inner] = along(a, axis), dtype = a.dtype, data = room_of(dtype, outer * Math.max(size - 1, 0) * inner);
    for (let o = 0; o < outer; o++) for (let k = 0; k + 1 < size; k++) for (let i = 0; i < inner; i++) data[(o * (size - 1) + k) * inner + i] = a.data[(o * size + k + 1) * inner + i] - a.data[(o * size + k) * inner + i];
    const shape = [...a.shape]; shape[at] = Math.max(size - 1, 0);
    return new NdArray(data, shape, dtype);
  });
  add("gradient", ["a"], a => { const x = a.data, n = x.length; return made(n, f8, i => i === 0 ? x[1] - x[0] : i === n - 1 ? x[n - 1] - x[n - 2] : (x[i + 1] - x[i - 1]) / 2); });
  add("outer", ["a", "b"], (a, b) => $.mul(asarray(a).reshape(-1, 1), asarray(b).reshape(1, -1)));
  add("dot", ["a", "b"], matmul);
  add("array_equal", ["a", "b"], (a, b) => { a = asarray(a); b = asarray(b); return alike(a.shape, b.shape) && a.data.every((x, i) => x === b.data[i]); });
  add("nextafter", ["a", "b"], (a, b) => { const view = new DataView(new ArrayBuffer(8)); view.setFloat64(0, a); const up = (b > a) === (a > 0); view.setBigInt64(0, view.getBigInt64(0) + (up ? 1n : -1n)); return a === 0 ? (b > 0 ? 5e-324 : -5e-324) : view.getFloat64(0); });
  // Order.
  const ordered = keys => { // indices sorted by the last key first, stable
    const n = keys[0].length, index = new Array(n), last = keys.length - 1;
    for (let i = 0; i < n; i++) index[i] = i;
    const before = (a, b) => { const x = a !== a, y = b !== b; return x || y ? x - y : a < b ? -1 : a > b ? 1 : 0; };
    if (last === 0) { const k = keys[0]; return index.sort((i, j) => before(k[i], k[j])); }
    return index.sort((i, j) => { for (let k = last; k >= 0; k--) { const c = before(keys[k][i], keys[k][j]); if (c) return c; } return 0; });
  };
  add("argsort", ["a", "axis", "kind"], a => array(ordered([asarray(a).data]), i8));
  add("lexsort", ["keys"], keys => array(ordered([...$.iter(keys)].map(each => asarray(each).data)), i8));
  add("sort", ["a"], a => { a = asarray(a).copy(); if (a.dtype === O) a.data.sort(); else a.data.sort(); return a; });
  add("flatnonzero", ["a"], a => { a = asarray(a); const found = []; for (let i = 0; i < a.size; i++) if (a.data[i]) found.push(i); return array(found, i8); });
  add("searchsorted", ["a", "v", "side"], (a, v, side = "left") => {
    const x = asarray(a).data, find = value => { let low = 0, high = x.length; while (low < high) { const mid = (low + high) >> 1; if (side === "left" ? x[mid] < value : x[mid] <= value) low = mid + 1; else high = mid; } return low; };
    return typeof v === "number" ? find(v) : (v = asarray(v), v.ndim === 0 ? find(v.data[0]) : unary(v, find, i8));
  });
  add("unique", ["a", "return_index", "return_inverse", "return_counts", "axis"], (a, index, inverse, counts, axis) => {
    a = asarray(a);
    if (axis == null && a.dtype !== O) {
      const x = a.data, seen = new Map();
      for (let i = 0; i < x.length; i++) if (!seen.has(x[i])) seen.set(x[i], i);
      const sorted = Float64Array.from(seen.keys()).sort(), n = sorted.length, first = new Float64Array(n), values = room_of(a.dtype, n), result = [new NdArray(values, [n], a.dtype)];
      for (let k = 0; k < n; k++) { first[k] = seen.get(sorted[k]); values[k] = sorted[k]; seen.set(sorted[k], k); }
      const which = inverse || counts ? Float64Array.from(x, value => seen.get(value)) : null;
      if (index) result.push(new NdArray(first, [n], i8));
      if (inverse) result.push(new NdArray(which, a.shape, i8));
      if (counts) { const many = new Float64Array(n); for (const w of which) many[w]++; result.push(new NdArray(many, [n], i8)); }
      return result.length > 1 ? tuple(result) : result[0];
    }
    const columns = axis === 1 ? Array.from(a, each => each.data) : [a.data], order = ordered([...columns].reverse()), first = [], which = new Float64Array(order.length);
    const equal = (i, j) => columns.every(c => c[i] === c[j] || (c[i] !== c[i] && c[j] !== c[j]));
    order.forEach((at, k) => { if (k === 0 || !equal(at, order[k - 1])) first.push(at); which[at] = first.length - 1; });
    const values = axis === 1 ? get(a, tuple([new Slice(null, null, null), array(first, i8)])) : get(a.ravel(), array(first, i8)), result = [values];
    if (index) result.push(array(first, i8));
    if (inverse) result.push(new NdArray(which, axis === 1 ? [which.length] : a.shape, i8));
    if (counts) { const many = new Float64Array(first.length); for (const w of which) many[w]++; result.push(new NdArray(many, [many.length], i8)); }
    return result.length > 1 ? tuple(result) : values;
  });
  add("bincount", ["x", "weights", "minlength"], (x, weights, minlength = 0) => {
    x = asarray(x); const w = weights == null ? null : asarray(weights);
    let n = minlength; for (const i of x.data) if (i >= n) n = i + 1;
    const data = new Float64Array(n); for (let i = 0; i < x.size; i++) data[x.data[i]] += w ? w.data[i] : 1;
    return new NdArray(data, [n], w ? f8 : i8);
  });
  add("interp", ["x", "xp", "fp"], (x, xp, fp) => unary(x, value => {
    const p = xp.data, n = p.length;
    if (value <= p[0]) return fp.data[0]; if (value >= p[n - 1]) return fp.data[n - 1];
    const j = np.searchsorted(xp, value, "right") - 1;
    return fp.data[j] + (fp.data[j + 1] - fp.data[j]) / (p[j + 1] - p[j]) * (value - p[j]);
  }));
  // Linear algebra, small matrices.
  const cholesky = a => {
    const n = a.shape[0], l = filled([n, n], f8, 0), x = l.data;
    for (let i = 0; i < n; i++) for (let j = 0; j <= i; j++) {
      let left = a.data[i * n + j]; for (let k = 0; k < j; k++) left -= x[i * n + k] * x[j * n + k];
      if (i === j) { if (!(left > 0)) return null; x[i * n + i] = Math.sqrt(left); } else x[i * n + j] = left / x[j * n + j];
    }
    return l;
  };
  const solve = (a, b) => {
    const n = a.shape[0], m = b.ndim === 1 ? 1 : b.shape[1], x = Float64Array.from(a.data), y = Float64Array.from(b.data);
    for (let c = 0; c < n; c++) {
      let best = c; for (let r = c + 1; r < n; r++) if (Math.abs(x[r * n + c]) > Math.abs(x[best * n + c])) best = r;
      if (best !== c) { for (let k = 0; k < n; k++) [x[c * n + k], x[best * n + k]] = [x[best * n + k], x[c * n + k]]; for (let k = 0; k < m; k++) [y[c * m + k], y[best * m + k]] = [y[best * m + k], y[c * m + k]]; }
      for (let r = c + 1; r < n; r++) { const f = x[r * n + c] / x[c * n + c]; if (f === 0) continue; for (let k = c; k < n; k++) x[r * n + k] -= f * x[c * n + k]; for (let k = 0; k < m; k++) y[r * m + k] -= f * y[c * m + k]; }
    }
    for (let c = n - 1; c >= 0; c--) for (let k = 0; k < m; k++) { let left = y[c * m + k]; for (let j = c + 1; j < n; j++) left -= x[c * n + j] * y[j * m + k]; y[c * m + k] = left / x[c * n + c]; }
    return new NdArray(y, b.shape, f8);
  };
  const qr = a => { // the triangle of Householder's factorisation
    const [m, n] = a.shape, x = Float64Array.from(a.data), k = Math.min(m, n);
    for (let c = 0; c < k; c++) {
      let norm = 0; for (let r = c; r < m; r++) norm += x[r * n + c] ** 2;
      norm = Math.sqrt(norm); if (norm === 0) continue;
      const alpha = x[c * n + c] > 0 ? -norm : norm, v = new Float64Array(m);
      v[c] = x[c * n + c] - alpha; for (let r = c + 1; r < m; r++) v[r] = x[r * n + c];
      let square = 0; for (let r = c; r < m; r++) square += v[r] * v[r];
      for (let j = c; j < n; j++) { let dot = 0; for (let r = c; r < m; r++) dot += v[r] * x[r * n + j]; const f = 2 * dot / square; for (let r = c; r < m; r++) x[r * n + j] -= f * v[r]; }
    }
    const data = new Float64Array(k * n); for (let i = 0; i < k; i++) for (let j = i; j < n; j++) data[i * n + j] = x[i * n + j];
    return new NdArray(data, [k, n], f8);
  };
  const eigh = a => { // Jacobi's rotations, until nothing is left beside the diagonal
    const n = a.shape[0], x = Float64Array.from(a.data), v = new Float64Array(n * n);
    for (let i = 0; i < n; i++) v[i * n + i] = 1;
    for (let left = 1, sweep = 0; left > 0 && sweep < 60; sweep++) {
      left = 0;
      for (let p = 0; p < n; p++) for (let q = p + 1; q < n; q++) {
        const off = x[p * n + q];
        if (Math.abs(off) <= 1e-18 * Math.hypot(x[p * n + p], x[q * n + q])) continue;
        left++;
        const half = (x[q * n + q] - x[p * n + p]) / (2 * off), t = (half < 0 ? -1 : 1) / (Math.abs(half) + Math.hypot(half, 1)), c = 1 / Math.hypot(t, 1), s = t * c;
        for (let k = 0; k < n; k++) { const f = x[k * n + p], g = x[k * n + q]; x[k * n + p] = c * f - s * g; x[k * n + q] = s * f + c * g; }
        for (let k = 0; k < n; k++) { const f = x[p * n + k], g = x[q * n + k]; x[p * n + k] = c * f - s * g; x[q * n + k] = s * f + c * g; }
        for (let k = 0; k < n; k++) { const f = v[k * n + p], g = v[k * n + q]; v[k * n + p] = c * f - s * g; v[k * n + q] = s * f + c * g; }
      }
    }
    const order = Array.from({ length: n }, (_, i) => i).sort((i, j) => x[i * n + i] - x[j * n + j]);
    return tuple([array(order.map(i => x[i * n + i]), f8), new NdArray(Float64Array.from({ length: n * n }, (_, at) => v[(at - at % n) + order[at % n]]), [n, n], f8)]);
  };
  np.linalg = { cholesky: a => { const l = cholesky(a); if (!l) throw error("ValueError", "the matrix is not positive definite"); return l; }, solve, eigh, qr: func(qr, ["a", "mode"]) };
  const triangular = (r, b, transposed) => {
    const n = r.shape[0], y = Float64Array.from(b.data);
    if (transposed) for (let i = 0; i < n; i++) { for (let k = 0; k < i; k++) y[i] -= r.data[k * n + i] * y[k]; y[i] /= r.data[i * n + i]; }
    else for (let i = n - 1; i >= 0; i--) { for (let k = i + 1; k < n; k++) y[i] -= r.data[i * n + k] * y[k]; y[i] /= r.data[i * n + i]; }
    return new NdArray(y, b.shape, f8);
  };
  const lapack = {
    dposv: (h, b) => { const l = cholesky(h); if (!l) return tuple([h, b, 1]); const up = l.transpose(); return tuple([l, triangular(up, triangular(up, b, true), false), 0]); },
    dtrtrs: func((r, b, lower, trans = 0) => tuple([triangular(r, b, trans === 1), 0]), ["a", "b", "lower", "trans"]),
  };
  // Gauss and Legendre's nodes, by Newton's method.
  const leggauss = n => {
    const x = new Float64Array(n), w = new Float64Array(n);
    for (let i = 0; i < n; i++) {
      let z = -Math.cos(Math.PI * (i + 0.75) / (n + 0.5)), slope = 1;
      for (let step = 0; step < 100; step++) {
        let p = 1, q = 0; for (let j = 1; j <= n; j++) [p, q] = [((2 * j - 1) * z * p - (j - 1) * q) / j, p];
        slope = n * (z * p - q) / (z * z - 1);
        const move = p / slope; z -= move; if (Math.abs(move) < 1e-16) break;
      }
      x[i] = z; w[i] = 2 / ((1 - z * z) * slope * slope);
    }
    return tuple([new NdArray(x, [n], f8), new NdArray(w, [n], f8)]);
  };
  np.polynomial = { legendre: { leggauss }, polynomial: {} };
  const quiet = { __enter__: () => null, __exit__: () => null };
  np.errstate = func(() => quiet, [], true);
  np.finfo = () => ({ tiny: 2.2250738585072014e-308, eps: 2 ** -52, max: Number.MAX_VALUE });
  np.ma = { is_masked: () => false, MaskedArray: { $test: () => false }, getdata: a => a };
  np.random = { Generator: { $test: () => true } };
  Object.assign(np, { float64: f8, float32: f4, int64: i8, intp: i8, uintp: u4, bool_: b1, object_: O, generic: f8, ndarray: NdArray, inf: Infinity, nan: NaN, pi: Math.PI, newaxis: null, lib: { mixins: { NDArrayOperatorsMixin: $.builtins.object } } });

  Object.assign($, {
    is_array: is, array_operator: operator, array_inplace: inplace, array_unary: (name, a) => of_array(name)(a), array_get: get, array_set: set, array_of: array, NdArray, np,
    array_truth: a => { if (a.size !== 1) throw error("ValueError", "the truth of an array of several numbers"); return !!a.data[0]; }, elementwise, unary, lapack, dtypes: { f8, f4, i8, b1, O },
  });
  $.modules.set("numpy", np);
  $.modules.set("numpy.typing", { ArrayLike: null, NDArray: { $test: () => false } });
  $.modules.set("scipy.linalg.lapack", lapack);
})();
