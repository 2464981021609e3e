// What Python does, for the modules that to_javascript.py translates: calls, classes, operators, texts.
// None is null, numbers are numbers, lists are arrays, tuples are arrays of their own kind.
"use strict";
const $ = (() => {
  class Tuple extends Array {
    static get [Symbol.species]() { return Array; }
  }
  class Keywords {
    constructor(entries) { this.entries = entries; }
  }
  class Slice {
    constructor(start, stop, step) { this.start = start; this.stop = stop; this.step = step; }
    // First index, step and number of indices among n.
    over(n) {
      const step = this.step == null ? 1 : this.step;
      const low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
      const at = (i, usual) => i == null ? usual : Math.max(low, Math.min(high, i < 0 ? i + n : i));
      const start = at(this.start, step > 0 ? 0 : n - 1), stop = at(this.stop, step > 0 ? n : -1);
      return [start, step, Math.max(0, Math.ceil((stop - start) / step))];
    }
  }
  const Ellipsis = { toString: () => "Ellipsis" };

  // Dictionaries: keys that are equal in Python have the same text or are the same object.
  const keyed = key => key instanceof Tuple ? "t" + key.map(part => typeof part === "object" && part !== null ? identity(part) : String(keyed(part))).join("\u0001")
    : typeof key === "boolean" ? Number(key) : key;
  const numbers = new WeakMap();
  let objects = 0;
  const identity = object => {
    if (typeof object !== "object" && typeof object !== "function" || object === null) return String(object);
    if (!numbers.has(object)) numbers.set(object, ++objects);
    return numbers.get(object);
  };
  class Dict {
    constructor(entries) { this.map = new Map(); for (const [key, value] of entries || []) this.set(key, value); }
    set(key, value) { const k = keyed(key), old = this.map.get(k); if (old) old[1] = value; else this.map.set(k, [key, value]); }
    has(key) { return this.map.has(keyed(key)); }
    take(key) { const found = this.map.get(keyed(key)); return found && found[1]; }
    get size() { return this.map.size; }
    *[Symbol.iterator]() { for (const [key] of this.map.values()) yield key; }
    entries() { return [...this.map.values()]; }
  }
  class PySet {
    constructor(items) { this.map = new Map(); for (const item of items || []) this.map.set(keyed(item), item); }
    has(item) { return this.map.has(keyed(item)); }
    get size() { return this.map.size; }
    [Symbol.iterator]() { return this.map.values(); }
  }

  // Errors.
  const error = (kind, message) => make(builtins[kind], [message]);
  const raised = value => typeof value === "function" ? make(value, []) : value;
  const caught = thrown => {
    if (thrown instanceof RangeError && /call stack/.test(thrown.message)) return error("RecursionError", thrown.message);
    return thrown;
  };

  // Functions: `names` are the parameters in the order of JavaScript's; those with * take all and sort them out.
  const func = (f, names, starred) => { f.$names = names; f.$starred = !!starred; return f; };
  const method = (f, names, starred) => { func(f, names, starred); f.$method = true; return f; };
  const missing = (name, why) => method(function () { throw error("NotImplementedError", `${name} is not part of the page: ${why}`); }, [], true);
  function bound(args, positional, only, star, rest) {
    const last = args[args.length - 1], given = last instanceof Keywords ? new Map(args.pop().entries) : new Map();
    const taken = name => { const value = given.get(name); given.delete(name); return value; };
    const result = positional.map((name, i) => i < args.length ? args[i] : taken(name));
    if (star) result.push(tuple(args.slice(positional.length)));
    else if (args.length > positional.length) throw error("TypeError", "too many arguments");
    for (const name of only) result.push(taken(name));
    if (rest) result.push(new Dict(given));
    else if (given.size) throw error("TypeError", `unexpected keyword ${[...given.keys()].join(", ")}`);
    return result;
  }
  // Arguments with keywords put where a function expects them.
  function placed(f, args) {
    const last = args[args.length - 1];
    if (!(last instanceof Keywords) || f.$starred) return args;
    args.pop();
    for (const [name, value] of last.entries) {
      const at = f.$names ? f.$names.indexOf(name) : -1;
      if (at < 0) throw error("TypeError", `${f.$title || f.name || "a function"} takes no ${name}`);
      while (args.length <= at) args.push(undefined);
      args[at] = value;
    }
    return args;
  }
  function apply(f, self, args) {
    if (typeof f === "function") {
      if (f.$class) return make(f, args);
      return f.apply(self, placed(f, args));
    }
    if (f != null && typeof f.__call__ === "function") return apply(f.__call__, f, args);
    throw error("TypeError", `${repr(f)} is not callable`);
  }
  const call = (f, ...args) => apply(f, undefined, args);
  function call_method(object, name, ...args) {
    if (object === null || object === undefined) throw error("AttributeError", `None has no ${name}`);
    let f = object.$class ? undefined : object[name];
    if (typeof f === "function" && !own_kind(object)) {
      if (f.$kind === "class") return apply(f, object.constructor, args);
      if (f.$kind === undefined) return apply(f, object, args);
    }
    return apply(attr(object, name), undefined, args);
  }
  // Texts, lists, dictionaries and sets have the methods of Python, not those of JavaScript.
  const own_kind = object => typeof object === "string" ? "str" : Array.isArray(object) ? "list"
    : object instanceof Dict ? "dict" : object instanceof PySet ? "set" : typeof object === "number" ? "float" : null;

  function attr(object, name) {
    if (object === null || object === undefined) throw error("AttributeError", `None has no ${name}`);
    const kind = own_kind(object);
    if (kind) {
      const f = methods[kind][name];
      if (f === undefined) throw error("AttributeError", `${kind} has no ${name}`);
      return func((...args) => f(object, ...args), f.$names, f.$starred);
    }
    if (name === "__class__") return type(object);
    if (object.$class) {
      if (name === "__name__") return object.$title;
      if (name === "__annotations__") return new Dict(object.$fields_own.map(field => [field, null]));
      if (name === "__dict__") return new Dict(Object.entries(object.$own));
      const value = object.prototype[name];
      if (value === undefined) throw error("AttributeError", `${object.$title} has no ${name}`);
      if (typeof value === "function" && value.$kind === "class") return func(value.bind(object), value.$names, value.$starred);
      if (typeof value === "function" && value.$method && value.$kind !== "static") {
        const unbound = func((self, ...args) => value.apply(self, args), value.$names && ["self", ...value.$names], value.$starred);
        unbound.$of = value;
        return unbound;
      }
      return value;
    }
    if (name === "__dict__") return new Dict(Object.entries(object));
    const value = object[name];
    if (value === undefined) throw error("AttributeError", `${type_name(object)} has no ${name}`);
    if (typeof value === "function" && value.$method) {
      if (value.$kind === "static") return value;
      const self = value.$kind === "class" ? object.constructor : object;
      return func(value.bind(self), value.$names, value.$starred);
    }
    if (typeof value === "function" && !Object.hasOwn(object, name) && !value.$class && object.constructor && object.constructor.$native)
      return func(value.bind(object), value.$names);
    return value;
  }
  const setattr = (object, name, value) => { object[name] = value; };

  // Classes: the members of all bases are copied, in the order in which Python looks for them.
  class Property { constructor(f) { this.f = f; } }
  class CachedProperty { constructor(f) { this.f = f; } }
  const linear = (bases) => { // C3
    const lists = [...bases.map(base => [...base.$order]), [...bases]].filter(list => list.length), order = [];
    while (lists.some(list => list.length)) {
      const head = lists.filter(list => list.length).map(list => list[0]).find(first => !lists.some(list => list.indexOf(first) > 0));
      order.push(head);
      for (const list of lists) if (list[0] === head) list.shift();
    }
    return order;
  };
  function class_(title, bases, body, fields, early) {
    bases = bases.filter(base => typeof base === "function" && base.$class && base !== builtins.object);
    function made(...args) { return make(made, args); }
    const own = {};
    Object.assign(made, { $class: true, $title: title, $own: own, $fields_own: fields, $bases: bases });
    made.$order = [made, ...linear(bases)];
    made.$named_tuple = bases.some(base => base.$named_tuple);
    const parent = made.$order.slice(1).find(base => base.$fields);
    if (parent) Object.assign(made, { $fields: parent.$fields, $eq: parent.$eq });
    early(made);
    body(own);
    const prototype = made.prototype;
    for (const each of [...made.$order].reverse())
      for (const [name, value] of Object.entries(each.$own)) define(prototype, name, value);
    if (made.$named_tuple && fields.length) named_tuple(made, fields);
    for (const base of made.$order.slice(1))
      if (base.$own.__init_subclass__) { base.$own.__init_subclass__.call(made); break; }
    return made;
  }
  function define(prototype, name, value) {
    if (value instanceof Property) Object.defineProperty(prototype, name, { configurable: true, get() { return value.f.call(this); }, set(to) { Object.defineProperty(this, name, { value: to, configurable: true, writable: true, enumerable: true }); } });
    else if (value instanceof CachedProperty) Object.defineProperty(prototype, name, {
      configurable: true,
      get() { const found = value.f.call(this); Object.defineProperty(this, name, { value: found, configurable: true, writable: true, enumerable: false }); return found; },
    });
    else Object.defineProperty(prototype, name, { value, configurable: true, writable: true, enumerable: false });
  }
  function make(cls, args) {
    if (cls.$make) return cls.$make(...placed(cls.$make, args));
    const self = Object.create(cls.prototype);
    const init = self.__init__;
    if (init) init.apply(self, placed(init, args));
    return self;
  }
  const super_ = (cls, self) => {
    const order = (self.$class ? self : self.constructor).$order, after = order.slice(order.indexOf(cls) + 1);
    return new Proxy({}, { get: (_, name) => {
      for (const each of after) if (Object.hasOwn(each.$own, name)) {
        const value = each.$own[name];
        if (value instanceof Property || value instanceof CachedProperty) return value.f.call(self);
        return typeof value === "function" ? func(value.bind(self), value.$names, value.$starred) : value;
      }
      if (name === "__init__" || name === "__init_subclass__") return () => null;
      return undefined;
    }, has: () => true });
  };
  // Fields of a dataclass, those of its bases first; keyword-only ones last.
  function dataclass(cls, options) {
    const fields = new Map();
    for (const each of [...cls.$order].reverse())
      if (each === cls || each.$fields)
        for (const name of each.$fields_own) {
          const value = each.$own[name];
          fields.set(name, value instanceof Field ? value : new Field(value));
        }
    for (const [name, field] of fields)
      if (field.value !== undefined) define(cls.prototype, name, field.value);
      else if (Object.hasOwn(cls.prototype, name) && cls.prototype[name] instanceof Field) delete cls.prototype[name];
    const placed_ = [...fields].filter(([, field]) => !field.kw_only), only = [...fields].filter(([, field]) => field.kw_only);
    const all = [...placed_, ...only];
    cls.$fields = all.map(([name]) => name);
    if (!Object.hasOwn(cls.$own, "__init__")) {
      const init = method(function (...args) {
        all.forEach(([name, field], i) => {
          let value = args[i];
          if (value === undefined) value = field.factory ? call(field.factory) : field.value;
          if (value === undefined) throw error("TypeError", `${cls.$title} needs ${name}`);
          Object.defineProperty(this, name, { value, configurable: true, writable: true, enumerable: true });
        });
        if (args.length > all.length) throw error("TypeError", `too many arguments for ${cls.$title}`);
        if (this.__post_init__) this.__post_init__();
        return null;
      }, all.map(([name]) => name));
      cls.$own.__init__ = init;
      define(cls.prototype, "__init__", init);
    }
    cls.$eq = options.eq !== false;
    return cls;
  }
  class Field {
    constructor(value, factory, kw_only) { this.value = value; this.factory = factory; this.kw_only = kw_only; }
  }
  function named_tuple(cls, fields) {
    cls.$fields = fields;
    const defaults = fields.map(name => cls.$own[name]);
    const init = method(function (...args) {
      fields.forEach((name, i) => Object.defineProperty(this, name, { value: args[i] === undefined ? defaults[i] : args[i], writable: true, configurable: true, enumerable: true }));
      return null;
    }, fields);
    define(cls.prototype, "__init__", init);
    define(cls.prototype, "_replace", method(function (...args) {
      const given = new Map(args.length ? args[0].entries : []);
      return make(cls, fields.map(name => given.has(name) ? given.get(name) : this[name]));
    }, [], true));
    Object.defineProperty(cls.prototype, Symbol.iterator, { *value() { for (const name of fields) yield this[name]; } });
  }
  const type = value => value === null || value === undefined ? builtins.NoneType : typeof value === "boolean" ? builtins.bool : typeof value === "number" ? builtins.float
    : typeof value === "string" ? builtins.str : value instanceof Tuple ? builtins.tuple : Array.isArray(value) ? builtins.list
      : value instanceof Dict ? builtins.dict : value.$class ? builtins.type : value.constructor;
  const type_name = value => { const found = type(value); return found && (found.$title || found.name); };
  function isinstance(value, kinds) {
    if (kinds instanceof Tuple || Array.isArray(kinds)) return kinds.some(kind => isinstance(value, kind));
    if (kinds == null) return value == null;
    if (kinds.$test) return kinds.$test(value);
    if (value === null || value === undefined) return false;
    if (kinds.$class) return !!(value.constructor && value.constructor.$order && value.constructor.$order.includes(kinds));
    return typeof kinds === "function" && value instanceof kinds;
  }

  // Operators. Arrays (numpy.js) bring their own.
  const binary = {
    add: (a, b) => a + b, sub: (a, b) => a - b, mul: (a, b) => a * b, div: (a, b) => a / b,
    floordiv: (a, b) => Math.floor(a / b), mod: (a, b) => { const r = a % b; return r !== 0 && (r < 0) !== (b < 0) ? r + b : r; },
    pow: (a, b) => a ** b, matmul: () => { throw error("TypeError", "@ of numbers"); },
    and: (a, b) => typeof a === "boolean" && typeof b === "boolean" ? a && b : Number(BigInt(a) & BigInt(b)),
    or: (a, b) => typeof a === "boolean" && typeof b === "boolean" ? a || b : Number(BigInt(a) | BigInt(b)),
    xor: (a, b) => typeof a === "boolean" ? a !== b : Number(BigInt(a) ^ BigInt(b)),
    lt: (a, b) => a < b, le: (a, b) => a <= b, gt: (a, b) => a > b, ge: (a, b) => a >= b,
  };
  const plain = value => typeof value === "number" || typeof value === "boolean";
  const operators = {};
  for (const [name, of_numbers] of Object.entries(binary))
    operators[name] = (a, b) => {
      if (plain(a) && plain(b)) return of_numbers(a, b);
      if ($.is_array(a) || $.is_array(b)) return $.array_operator(name, a, b);
      const special = { add: "__add__", sub: "__sub__", mul: "__mul__", lt: "__lt__", or: "__or__" }[name];
      if (a != null && special && typeof a === "object" && typeof a[special] === "function") return a[special](b);
      return other(name, a, b);
    };
  function other(name, a, b) {
    if (typeof a === "string" && typeof b === "string") {
      if (name === "add") return a + b;
      if (name in { lt: 1, le: 1, gt: 1, ge: 1 }) return binary[name](a, b);
    }
    if (name === "mul") {
      if (plain(a)) [a, b] = [b, a];
      if (typeof a === "string") return a.repeat(Math.max(0, Number(b)));
      if (Array.isArray(a)) { const r = []; for (let i = 0; i < b; i++) r.push(...a); return a instanceof Tuple ? tuple(r) : r; }
    }
    if (name === "mod" && typeof a === "string") throw error("NotImplementedError", "% of a text");
    if (name === "add" && Array.isArray(a) && Array.isArray(b)) return a instanceof Tuple ? tuple([...a, ...b]) : [...a, ...b];
    if (name === "or") {
      if (a instanceof Dict) return new Dict([...a.entries(), ...b.entries()]);
      if (a instanceof PySet) return new PySet([...a, ...b]);
      if (b == null || typeof b === "function" || b.$test || b instanceof Array) return tuple([a, b].flat());
    }
    if (name === "and" && a instanceof PySet) return new PySet([...a].filter(item => b.has(item)));
    if (name === "sub" && a instanceof PySet) return new PySet([...a].filter(item => !b.has(item)));
    if (name === "le" && a instanceof PySet) return [...a].every(item => b.has(item));
    if (name in { lt: 1, le: 1, gt: 1, ge: 1 } && Array.isArray(a) && Array.isArray(b)) {
      for (let i = 0; i < Math.min(a.length, b.length); i++) if (!eq(a[i], b[i])) return operators[name](a[i], b[i]);
      return binary[name](a.length, b.length);
    }
    throw error("TypeError", `unsupported operands of ${name}: ${type_name(a)} and ${type_name(b)}`);
  }
  const inplace = (name, a, b) => {
    if ($.is_array(a) && a.shape.length) return $.array_inplace(name, a, b);
    if (name === "add" && Array.isArray(a) && !(a instanceof Tuple)) { for (const each of iter(b)) a.push(each); return a; }
    if (name === "or" && a instanceof Dict) { for (const [key, value] of entries(b)) a.set(key, value); return a; }
    return operators[name](a, b);
  };
  function eq(a, b) {
    if (plain(a) && plain(b)) return Number(a) === Number(b);
    if ($.is_array(a) || $.is_array(b)) return a === null || b === null ? false : $.array_operator("eq", a, b);
    if (a === b) return true;
    if (a == null || b == null) return a == b;
    if (typeof a === "string" || typeof b === "string") return a === b;
    if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((each, i) => truth(eq(each, b[i])));
    if (a instanceof Dict && b instanceof Dict) return a.size === b.size && a.entries().every(([key, value]) => b.has(key) && truth(eq(value, b.take(key))));
    if (a instanceof PySet && b instanceof PySet) return a.size === b.size && [...a].every(item => b.has(item));
    if (typeof a.__eq__ === "function" && !a.$class) return a.__eq__(b);
    if (a.constructor === b.constructor && a.constructor.$eq) return a.constructor.$fields.every(name => truth(eq(a[name], b[name])));
    if (a.$of && b.$of) return a.$of === b.$of;
    return false;
  }
  const is = (a, b) => a == null ? b == null : a === b || (a.$of !== undefined && a.$of === (b && b.$of));
  function contains(item, inside) {
    if (typeof inside === "string") return inside.includes(item);
    if (Array.isArray(inside)) return inside.some(each => truth(eq(each, item)));
    if (inside instanceof Dict || inside instanceof PySet) return inside.has(item);
    if (inside.__contains__) return inside.__contains__(item);
    for (const each of iter(inside)) if (truth(eq(each, item))) return true;
    return false;
  }
  const neg = a => plain(a) ? -a : $.array_unary("neg", a);
  const pos = a => a;
  const invert = a => typeof a === "boolean" ? !a : typeof a === "number" ? ~a : $.array_unary("invert", a);
  function truth(value) {
    if (typeof value === "boolean") return value;
    if (value === null || value === undefined) return false;
    if (typeof value === "number") return value !== 0;
    if (typeof value === "string" || Array.isArray(value)) return value.length > 0;
    if (value instanceof Dict || value instanceof PySet) return value.size > 0;
    if ($.is_array(value)) return $.array_truth(value);
    if (value.__bool__) return value.__bool__();
    if (value.__len__) return value.__len__() > 0;
    return true;
  }
  const both = (first, ...rest) => { let value = first; for (const next of rest) { if (!truth(value)) return value; value = next(); } return value; };
  const either = (first, ...rest) => { let value = first; for (const next of rest) { if (truth(value)) return value; value = next(); } return value; };

  // Iteration, items.
  function iter(value) {
    if (value != null && value[Symbol.iterator]) return value;
    if (value != null && value.__iter__) return iter(value.__iter__());
    throw error("TypeError", `${type_name(value)} is not iterable`);
  }
  function unpack(value, count) {
    const found = Array.isArray(value) ? value : [...iter(value)];
    if (found.length !== count) throw error("ValueError", `${found.length} values to unpack, not ${count}`);
    return found;
  }
  const unpack_starred = (value, before, after) => {
    const found = [...iter(value)], end = found.length - after;
    return [...found.slice(0, before), found.slice(before, end), ...found.slice(end)];
  };
  const entries = value => value instanceof Dict ? value.entries() : [...iter(value)].map(key => [key, get(value, key)]);
  function get(object, index) {
    if ($.is_array(object)) return $.array_get(object, index);
    if (typeof object === "string" || Array.isArray(object)) {
      if (index instanceof Slice) {
        const [start, step, count] = index.over(object.length), found = Array.from({ length: count }, (_, i) => object[start + i * step]);
        return typeof object === "string" ? found.join("") : object instanceof Tuple ? tuple(found) : found;
      }
      const at = Number(index) < 0 ? Number(index) + object.length : Number(index);
      if (!(at >= 0 && at < object.length)) throw error("IndexError", "index out of range");
      return object[at];
    }
    if (object instanceof Dict) {
      if (!object.has(index)) throw error("KeyError", index);
      return object.take(index);
    }
    if (object.constructor && object.constructor.$named_tuple) return get([...object], index);
    if (object.__getitem__) return object.__getitem__(index);
    return object; // list[int], Generic[T]: what is between the brackets is for type checkers
  }
  function set(object, index, value) {
    if ($.is_array(object)) return $.array_set(object, index, value);
    if (object instanceof Dict) return object.set(index, value);
    if (Array.isArray(object)) { object[index < 0 ? index + object.length : index] = value; return value; }
    return object.__setitem__(index, value);
  }
  const augment_item = (name, object, index, value) => set(object, index, inplace(name, get(object, index), value));
  const augment_attribute = (name, object, attribute, value) => setattr(object, attribute, inplace(name, attr(object, attribute), value));

  // Texts.
  function repr(value) {
    if (value === null || value === undefined) return "None";
    if (typeof value === "string") {
      const mark = value.includes("'") && !value.includes('"') ? '"' : "'";
      return mark + value.replace(/\\/g, "\\\\").replace(/\n/g, "\\n").replace(/\t/g, "\\t").replace(/\r/g, "\\r").replaceAll(mark, "\\" + mark)
        .replace(/[\u00a0\u200b-\u200f\u2028\u2029\u202f\u2060\u3000\ufeff]/g, each => { const code = each.charCodeAt(0); return code < 256 ? "\\x" + code.toString(16) : "\\u" + code.toString(16).padStart(4, "0"); }) + mark;
    }
    if (value instanceof Tuple) return `(${value.map(repr).join(", ")}${value.length === 1 ? "," : ""})`;
    if (Array.isArray(value)) return `[${value.map(repr).join(", ")}]`;
    if (value instanceof Dict) return `{${value.entries().map(([key, each]) => `${repr(key)}: ${repr(each)}`).join(", ")}}`;
    if (value.__repr__) return value.__repr__();
    return str(value);
  }
  function str(value) {
    if (value === null || value === undefined) return "None";
    if (typeof value === "string") return value;
    if (typeof value === "boolean") return value ? "True" : "False";
    if (typeof value === "number") return number_text(value);
    if (value.$class) return value.$title;
    if (value.__str__) return value.__str__();
    if (Array.isArray(value) || value instanceof Dict || value.__repr__) return repr(value);
    return String(value);
  }
  function number_text(x) {
    if (Number.isNaN(x)) return "nan";
    if (!Number.isFinite(x)) return x > 0 ? "inf" : "-inf";
    const [digits, power] = String(x).split("e");
    if (power === undefined) return digits;
    return `${digits}e${power[0] === "-" ? "-" : "+"}${power.replace(/^[+-]/, "").padStart(2, "0")}`;
  }
  const grouped = digits => digits.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  function general(x, precision, keep) {
    if (x === 0) return "0";
    const p = Math.max(1, precision), exponent = Number(x.toExponential(p - 1).split("e")[1]);
    const trimmed = text => keep || !text.includes(".") ? text : text.replace(/\.?0+$/, "");
    if (exponent < -4 || exponent >= p) {
      const [digits, power] = x.toExponential(p - 1).split("e");
      return `${trimmed(digits)}e${power[0] === "-" ? "-" : "+"}${power.replace(/^[+-]/, "").padStart(2, "0")}`;
    }
    return trimmed(x.toFixed(p - 1 - exponent));
  }
  function format(value, spec) {
    if ($.is_array(value) && value.size === 1) value = value.item();
    if (!spec) return str(value);
    const [, fill, align, sign, zero, width, comma, precision, kind] = /^(?:(.)?([<>^]))?([+ ]?)(0?)(\d*)(,?)(?:\.(\d+))?([a-z%]?)$/.exec(spec);
    let shown;
    if (typeof value === "string") shown = precision === undefined ? value : value.slice(0, Number(precision));
    else {
      const x = Number(value), digits = precision === undefined ? 6 : Number(precision), size = Math.abs(x);
      let body = !Number.isFinite(x) ? (Number.isNaN(x) ? "nan" : "inf") : kind === "%" ? (100 * size).toFixed(digits) + "%" : kind === "f" ? fixed(size, digits)
        : kind === "e" ? general_e(size, digits) : kind === "g" || precision !== undefined ? general(size, digits) : kind === "d" ? String(size) : number_text(size);
      if (comma) { const [whole, rest] = body.split("."); body = grouped(whole) + (rest === undefined ? "" : "." + rest); }
      shown = (x < 0 || Object.is(x, -0) ? "-" : sign === "+" ? "+" : "") + body;
    }
    const room = Number(width || 0) - shown.length;
    if (room <= 0) return shown;
    const side = align || (typeof value === "string" ? "<" : ">"), pad = (zero && !align ? "0" : fill || " ");
    return side === "<" ? shown + pad.repeat(room) : side === ">" ? pad.repeat(room) + shown
      : pad.repeat(Math.floor(room / 2)) + shown + pad.repeat(Math.ceil(room / 2));
  }
  const fixed = (x, digits) => {
    if (x >= 1e21) return BigInt(x).toString() + (digits ? "." + "0".repeat(digits) : "");
    if (digits === 0 && x % 1 === 0.5) return String(2 * Math.round(x / 2)); // half to even
    return x.toFixed(digits);
  };
  const general_e = (x, digits) => { const [body, power] = x.toExponential(digits).split("e"); return `${body}e${power[0]}${power.slice(1).padStart(2, "0")}`; };
  const spaced = /^[\s\u001c-\u001f\u0085]+|[\s\u001c-\u001f\u0085]+$/g;
  const methods = {
    str: {
      join: (s, parts) => [...iter(parts)].join(s), lower: s => s.toLowerCase(), upper: s => s.toUpperCase(),
      strip: (s, chars) => chars == null ? s.replace(spaced, "") : s.split("").filter((c, i, all) => all.slice(0, i + 1).some(d => !chars.includes(d)) && all.slice(i).some(d => !chars.includes(d))).join(""),
      startswith: (s, start) => [start].flat().some(each => s.startsWith(each)), endswith: (s, end) => [end].flat().some(each => s.endsWith(each)),
      split: (s, by) => by == null ? s.trim().split(/\s+/).filter(Boolean) : s.split(by), splitlines: s => s.split(/\r\n|\r|\n/),
      partition: (s, by) => { const at = s.indexOf(by); return tuple(at < 0 ? [s, "", ""] : [s.slice(0, at), by, s.slice(at + by.length)]); },
      rpartition: (s, by) => { const at = s.lastIndexOf(by); return tuple(at < 0 ? ["", "", s] : [s.slice(0, at), by, s.slice(at + by.length)]); },
      replace: (s, a, b) => s.replaceAll(a, b), count: (s, part) => s.split(part).length - 1, removesuffix: (s, end) => end && s.endsWith(end) ? s.slice(0, -end.length) : s,
      removeprefix: (s, start) => start && s.startsWith(start) ? s.slice(start.length) : s, isprintable: s => !/[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u.test(s), isdigit: s => /^\d+$/.test(s), title: s => s.replace(/\b\w/g, c => c.toUpperCase()), encode: s => s,
      format: func((s, ...args) => {
        const last = args[args.length - 1], named = new Map(last instanceof Keywords ? args.pop().entries : []);
        return s.replace(/\{\{|\}\}|\{([\w.]*)(?::([^}]*))?\}/g, (whole, path, spec) => {
          if (whole === "{{" || whole === "}}") return whole[0];
          const [head, ...rest] = path.split(".");
          let value = named.has(head) ? named.get(head) : args[Number(head || 0)];
          for (const name of rest) value = attr(value, name);
          return format(value, spec);
        });
      }, [], true),
    },
    list: {
      append: (a, item) => { a.push(item); return null; }, extend: (a, items) => { for (const each of iter(items)) a.push(each); return null; },
      pop: (a, at) => at === undefined ? a.pop() : a.splice(at, 1)[0], index: (a, item) => a.findIndex(each => truth(eq(each, item))),
      count: (a, item) => a.filter(each => truth(eq(each, item))).length, copy: a => [...a],
      sort: func((a, key, reverse) => { builtins.sorted(a, key, reverse).forEach((each, at) => { a[at] = each; }); return null; }, ["key", "reverse"]),
      insert: (a, at, item) => { a.splice(at, 0, item); return null; },
    },
    dict: {
      get: (d, key, usual) => d.has(key) ? d.take(key) : usual === undefined ? null : usual, items: d => d.entries().map(([key, value]) => tuple([key, value])),
      keys: d => new PySet([...d]), values: d => d.entries().map(([, value]) => value), copy: d => new Dict(d.entries()),
      setdefault: (d, key, usual) => { if (!d.has(key)) d.set(key, usual); return d.take(key); },
      update: (d, other) => { for (const [key, value] of entries(other)) d.set(key, value); return null; },
      pop: (d, key, usual) => { if (!d.has(key)) { if (usual === undefined) throw error("KeyError", key); return usual; } const value = d.take(key); d.map.delete(keyed(key)); return value; },
    },
    set: { add: (s, item) => { s.map.set(keyed(item), item); return null; }, copy: s => new PySet([...s]), update: (s, items) => { for (const item of iter(items)) s.map.set(keyed(item), item); return null; } },
    float: { is_integer: x => Number.isInteger(x), item: x => x, tolist: x => x, astype: (x) => x, reshape: (x, ...shape) => $.array_of(x).reshape(...shape), any: x => !!x, all: x => !!x, sum: x => x, max: x => x, min: x => x, copy: x => x, ravel: x => $.array_of([x]) },
  };
  methods.bool = methods.float;

  const tuple = items => { const made = new Tuple(items.length); for (let i = 0; i < items.length; i++) made[i] = items[i]; return made; };
  const compare = (a, b) => truth(operators.lt(a, b)) ? -1 : truth(operators.lt(b, a)) ? 1 : 0;
  const parse_float = text => {
    const trimmed = text.replace(spaced, "");
    if (/^[+-]?(\d+(_\d+)*\.?(\d+(_\d+)*)?|\.\d+(_\d+)*)([eE][+-]?\d+(_\d+)*)?$/.test(trimmed)) return Number(trimmed.replaceAll("_", ""));
    const named = /^([+-]?)(inf|infinity|nan)$/i.exec(trimmed);
    if (!named) throw error("ValueError", `could not convert string to float: ${repr(text)}`);
    return named[2].toLowerCase() === "nan" ? NaN : named[1] === "-" ? -Infinity : Infinity;
  };
  const even = x => { const r = Math.round(x); return Math.abs(x % 1) === 0.5 && r % 2 !== 0 ? r - 1 : r; };
  const named = (title, f, test, names, starred) => { f.$title = title; if (test) f.$test = test; f.$names = names; f.$starred = !!starred; return f; };
  const best = sign => named(sign < 0 ? "min" : "max", (...args) => {
    const last = args[args.length - 1], options = new Map(last instanceof Keywords ? args.pop().entries : []);
    const items = args.length === 1 ? [...iter(args[0])] : args, key = options.get("key");
    if (!items.length) { if (options.has("default")) return options.get("default"); throw error("ValueError", "max() of nothing"); }
    let top = items[0], height = key ? call(key, top) : top;
    for (const each of items.slice(1)) {
      const h = key ? call(key, each) : each;
      if (truth(sign < 0 ? operators.lt(h, height) : operators.gt(h, height))) { top = each; height = h; }
    }
    return top;
  }, null, [], true);
  const builtins = {
    None: null, True: true, False: false, Ellipsis, NotImplemented: { toString: () => "NotImplemented" },
    len: value => typeof value === "string" || Array.isArray(value) ? value.length : value instanceof Dict || value instanceof PySet ? value.size
      : $.is_array(value) ? value.shape[0] : value.constructor.$named_tuple ? value.constructor.$fields.length : value.__len__(),
    float: named("float", value => value === undefined ? 0 : typeof value === "string" ? parse_float(value) : $.is_array(value) ? Number(value.item()) : plain(value) ? Number(value) : (() => { throw error("TypeError", "not a number"); })(), v => typeof v === "number"),
    int: named("int", value => { const x = typeof value === "string" ? parse_float(value) : Number($.is_array(value) ? value.item() : value); if (!Number.isFinite(x)) throw error(Number.isNaN(x) ? "ValueError" : "OverflowError", "no whole number"); return Math.trunc(x); }, v => typeof v === "boolean" || Number.isInteger(v)),
    bool: named("bool", truth, v => typeof v === "boolean"),
    str: named("str", str, v => typeof v === "string"),
    bytes: named("bytes", value => str(value), () => false),
    complex: named("complex", () => null, () => false),
    list: named("list", items => items === undefined ? [] : Array.from(iter(items)), v => Array.isArray(v) && !(v instanceof Tuple)),
    tuple: named("tuple", items => items === undefined ? tuple([]) : tuple([...iter(items)]), v => v instanceof Tuple || !!(v && v.constructor && v.constructor.$named_tuple)),
    set: named("set", items => new PySet(items === undefined ? [] : iter(items)), v => v instanceof PySet),
    frozenset: named("frozenset", items => new PySet(items === undefined ? [] : iter(items)), v => v instanceof PySet),
    dict: named("dict", (...args) => {
      const last = args[args.length - 1], more = last instanceof Keywords ? args.pop().entries : [];
      const first = args[0] === undefined ? [] : args[0] instanceof Dict ? args[0].entries() : [...iter(args[0])].map(pair => unpack(pair, 2));
      return new Dict([...first, ...more]);
    }, v => v instanceof Dict, [], true),
    type: named("type", value => type(value), v => !!(v && v.$class)),
    object: null, slice: (a, b, c) => b === undefined ? new Slice(null, a, null) : new Slice(a, b, c === undefined ? null : c),
    range: (a, b, c) => { const [start, stop, step] = b === undefined ? [0, a, 1] : [a, b, c === undefined ? 1 : c], found = []; for (let i = start; step > 0 ? i < stop : i > stop; i += step) found.push(i); return found; },
    enumerate: named("enumerate", function* (items, start = 0) { let i = start; for (const each of iter(items)) yield tuple([i++, each]); }, null, ["items", "start"]),
    zip: named("zip", (...args) => {
      const last = args[args.length - 1], options = new Map(last instanceof Keywords ? args.pop().entries : []), lists = args.map(each => [...iter(each)]);
      const sizes = lists.map(each => each.length);
      if (options.get("strict") && sizes.some(size => size !== sizes[0])) throw error("ValueError", "zip() of unequal lengths");
      return Array.from({ length: lists.length ? Math.min(...sizes) : 0 }, (_, i) => tuple(lists.map(each => each[i])));
    }, null, [], true),
    map: (f, ...lists) => lists.length === 1 ? Array.from(iter(lists[0]), each => call(f, each)) : builtins.zip(...lists).map(each => call(f, ...each)),
    filter: (f, items) => [...iter(items)].filter(each => truth(f == null ? each : call(f, each))),
    sorted: named("sorted", (items, key, reverse) => {
      const found = [...iter(items)].map(each => [key == null ? each : call(key, each), each]).sort((a, b) => compare(a[0], b[0])).map(pair => pair[1]);
      return reverse ? found.reverse() : found;
    }, null, ["items", "key", "reverse"]),
    reversed: items => [...iter(items)].reverse(), sum: (items, start = 0) => { let total = start; for (const each of iter(items)) total = operators.add(total, each); return total; },
    any: items => { for (const each of iter(items)) if (truth(each)) return true; return false; },
    all: items => { for (const each of iter(items)) if (!truth(each)) return false; return true; },
    min: best(-1), max: best(1), abs: value => plain(value) ? Math.abs(value) : $.array_unary("abs", value),
    round: (value, digits) => digits == null ? even(value) : Number(even(value * 10 ** digits) / 10 ** digits), divmod: (a, b) => tuple([operators.floordiv(a, b), operators.mod(a, b)]),
    isinstance: (value, kinds) => isinstance(value, kinds), issubclass: (cls, base) => cls.$order.includes(base), repr, format, callable: value => typeof value === "function" || !!(value && value.__call__),
    hasattr: (object, name) => { try { attr(object, name); return true; } catch { return false; } },
    getattr: (object, name, usual) => { if (usual === undefined) return attr(object, name); try { return attr(object, name); } catch { return usual; } },
    setattr, iter: value => { const made = iter(value)[Symbol.iterator](); return made[Symbol.iterator] ? made : { [Symbol.iterator]() { return this; }, next: () => made.next() }; },
    next: (it, usual) => { const { value, done } = (it.next ? it : iter(it)[Symbol.iterator]()).next(); if (!done) return value; if (usual === undefined) throw error("StopIteration", ""); return usual; },
    id: identity, hash: value => identity(value), print: (...args) => { console.log(args.map(str).join(" ")); return null; },
    property: f => new Property(f),
    classmethod: f => { f.$kind = "class"; return f; }, staticmethod: f => { f.$kind = "static"; return f; },
    NoneType: named("NoneType", () => null, v => v == null),
  };
  builtins.dict.fromkeys = (keys, value = null) => new Dict([...iter(keys)].map(key => [key, value]));
  builtins.object = class_("object", [], () => {}, [], () => {});
  builtins.object.prototype.__setattr__ = setattr;
  const exception = (title, ...bases) => builtins[title] = class_(title, bases, own => {
    if (!bases.length) {
      own.__init__ = method(function (...args) { this.args = tuple(args); this.stack = `${type_name(this)}: ${args[0]}\n${new Error().stack}`; return null; }, [], true);
      own.__str__ = method(function () { return this.args.length ? str(this.args[0]) : ""; }, []);
    }
  }, [], () => {});
  exception("BaseException");
  exception("Exception", builtins.BaseException);
  Object.defineProperty(builtins.BaseException.prototype, "message", { configurable: true, get() { return this.__str__(); } });
  for (const title of ["ValueError", "TypeError", "KeyError", "IndexError", "AttributeError", "RuntimeError", "AssertionError", "OSError", "UserWarning", "StopIteration", "ArithmeticError", "LookupError"])
    exception(title, builtins.Exception);
  exception("ZeroDivisionError", builtins.ArithmeticError);
  exception("OverflowError", builtins.ArithmeticError);
  exception("NotImplementedError", builtins.RuntimeError);
  exception("RecursionError", builtins.RuntimeError);
  exception("ModuleNotFoundError", builtins.Exception);
  exception("UnicodeDecodeError", builtins.ValueError);

  // Modules.
  const modules = new Map(), sources = new Map();
  const absent = name => named(name, () => { throw error("NotImplementedError", `${name} is not part of the page`); });
  function require(name) {
    if (modules.has(name)) return modules.get(name);
    const made = sources.get(name);
    if (made === undefined) return absent_module(name);
    const module = {};
    modules.set(name, module);
    made(Object.create($, { module: { value: module } }));
    return module;
  }
  const absent_module = name => new Proxy(absent(name), { get: (target, key) => typeof key === "symbol" || key.startsWith("$") || key in target ? target[key] : absent(`${name}.${key}`) });
  function imported(module, name) {
    const inside = `${module}.${name}`;
    if (sources.has(inside) || modules.has(inside)) return require(inside);
    const found = require(module), value = found[name];
    return value === undefined ? absent(inside) : value;
  }
  const names = (module, getters) => { for (const [name, value] of Object.entries(getters)) Object.defineProperty(module, name, { get: value, enumerable: true, configurable: true }); };

  return {
    Tuple, Keywords, Slice, Ellipsis, Dict, PySet, Property, CachedProperty, Field, tuple, dict: entries_ => new Dict(entries_), set_: items => new PySet(items),
    slice: (a, b, c) => new Slice(a, b, c), error, raised, caught, function: func, method, missing, bound, apply, call, call_method, attr, setattr, class_, super_,
    dataclass, isinstance, type, ...operators, inplace, eq, ne: (a, b) => { const same = eq(a, b); return $.is_array(same) ? $.array_unary("invert", same) : !same; },
    is, isnot: (a, b) => !is(a, b), in: contains, notin: (a, b) => !contains(a, b), neg, pos, invert, truth, both, either, iter, unpack, unpack_starred, entries,
    get, set, augment_item, augment_attribute, repr, str, format, builtins, make, modules, sources, require, imported, names, absent,
    is_array: () => false, number_binary: binary,
  };
})();
