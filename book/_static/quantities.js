// Numbers and quantities as people write them: 4,096, 4k, 90%, 9h, $2.5. The rules are those of ettr.core.quantities,
// whose table of cases (tests/core/quantities.csv) is run through both.
window.ettrQuantities = (function () {
  "use strict";

  const named = (size, ...names) => names.map((name) => [name, size]);
  const TIME = Object.fromEntries([
    ...named(1e-6, "us", "µs"),
    ...named(1e-3, "ms"),
    ...named(1, "s", "sec", "second", "seconds"),
    ...named(60, "min", "minute", "minutes"),
    ...named(3600, "h", "hr", "hrs", "hour", "hours"),
    ...named(86400, "d", "day", "days"),
    ...named(604800, "week", "weeks"),
  ]);
  const MONTHS = { month: 1, months: 1, y: 12, year: 12, years: 12 };
  // Units that are written with prefixes: a bare k or M next to them could be a factor or half a unit.
  const PREFIXED = [
    { W: 1, kW: 1e3, MW: 1e6, GW: 1e9 },
    { "W/s": 1, "kW/s": 1e3, "MW/s": 1e6, "MW/min": 1e6 / 60 },
    { J: 1, kJ: 1e3, MJ: 1e6, Wh: 3.6e3, kWh: 3.6e6, MWh: 3.6e9, GWh: 3.6e12 },
    { kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12, PB: 1e15, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 },
    { "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12, "MiB/s": 2 ** 20, "GiB/s": 2 ** 30, "TiB/s": 2 ** 40 },
    { "GFLOP/s": 1e9, "TFLOP/s": 1e12, "PFLOP/s": 1e15, GFLOPS: 1e9, TFLOPS: 1e12, PFLOPS: 1e15 },
    { Hz: 1, kHz: 1e3, MHz: 1e6, GHz: 1e9 },
    { K: 1 },
    { "K/W": 1 },
    { "°C": 1, C: 1 },
  ];
  const DIMENSIONS = [TIME, MONTHS, ...PREFIXED];
  const MULTIPLIERS = { k: 3, K: 3, M: 6, B: 9, T: 12 }; // powers of ten
  const WORDS = { h: "hours", min: "minutes", s: "seconds", ms: "milliseconds", month: "months" };
  const PRICE_PER_GPU_H = "USD/(GPU h)";

  const WRITTEN =
    /^(\$|USD ?)?([-+]?(?:(?:[1-9]\d{0,2}(?:,\d{3})+|\d+(?:_\d+)*)(?:\.\d*)?|\.\d+)([eE][-+]?\d+)?)\s*((?![\d,._])\S.*)?$/;
  const COMMA = /^\s*([-+]?\d+),(\d+)\D*$/;

  const has = (object, key) => Object.prototype.hasOwnProperty.call(object, key);
  const hasPrefixes = (unit) => PREFIXED.some((units) => has(units, unit));

  // Spellings of a unit that is not converted, in lower case.
  function namesOf(unit) {
    const singular = unit.replace(/s$/, ""),
      names = [unit, singular, unit.replace(/-/g, " "), unit.replace(/-/g, " ").replace(/s$/, "")];
    if (unit === PRICE_PER_GPU_H) {
      names.push(...["GPU-h", "GPU-hour", "GPU h", "GPU hour"].map((hour) => "USD/" + hour));
    }
    if (unit.startsWith("USD")) {
      names.push("USD");
    }
    if (unit.startsWith("1/")) {
      names.push(unit.slice(1));
    }
    const spelledOut = names.map((name) => name.replace(/\//g, " per ").trimStart());
    return new Set([...names, ...spelledOut].map((name) => name.toLowerCase()));
  }

  // The factor from a number with this ending to the unit; null if the ending is no such unit.
  function factorOf(ending, unit) {
    if (!ending || (ending === "m" && unit === "min")) {
      return 1;
    }
    const units = DIMENSIONS.find((dimension) => has(dimension, unit));
    if (!units) {
      return unit && namesOf(unit).has(ending.toLowerCase()) ? 1 : null;
    }
    let spelling = ending;
    if (units === TIME || units === MONTHS) {
      spelling = ending.toLowerCase().replace("\u03bc", "µ"); // the Greek letter for the sign
    } else if (ending === ending.toLowerCase() && ending !== "k" && !ending.endsWith("b/s")) {
      spelling = Object.keys(units).find((name) => name.toLowerCase() === ending) || ending;
    }
    return has(units, spelling) ? units[spelling] / units[unit] : null;
  }

  function withUnit(number, unit) {
    if (unit.startsWith("USD")) {
      return `${number} or $${number}`;
    }
    if (has(WORDS, unit) || hasPrefixes(unit)) {
      return `${number} or ${number}${unit === "month" ? " months" : unit}`;
    }
    return unit ? `${number} or ${number} ${unit.replace("1/", "per ")}` : number;
  }

  function adviceOn(number, ending, unit) {
    if (has(MULTIPLIERS, ending) && hasPrefixes(unit)) {
      return `write the unit in full, e.g. ${number}${unit}`;
    }
    if (ending === "m" && has(TIME, unit)) {
      return `write ${number}min; m alone is not clear`;
    }
    const isUnit = DIMENSIONS.some((units) =>
      Object.keys(units).some((name) => name.toLowerCase() === ending.toLowerCase())
    );
    return /^\p{L}+$/u.test(ending) && !isUnit ? `write ${withUnit(number, unit)}` : `e.g. ${withUnit("12", unit)}`;
  }

  // A text as a number in a unit: { value }, or { advice } on what to write instead.
  function parse(text, unit) {
    if (/^\s*[-+]?0[0-9_]/.test(text)) {
      return { advice: `write ${text.trim().replace(/^[0_]+/, "") || "0"}, without a leading zero` };
    }
    const written = WRITTEN.exec(text.trim());
    if (!written) {
      const comma = COMMA.exec(text);
      return {
        advice: comma
          ? `write ${comma[1]}.${comma[2]}; commas only separate thousands, as in 4,096`
          : `e.g. ${withUnit("12", unit)}`,
      };
    }
    const [, currency, asWritten, exponent, ending = ""] = written,
      number = asWritten.replace(/[,_]/g, "");
    if ((ending === "%" || ending === "percent") && (unit === "" || unit === "%") && !currency && !exponent) {
      return { value: Number(unit ? number : number + "e-2") };
    }
    const sign = currency ? "USD" : "";
    let factor = factorOf(sign + ending, unit),
      power = 0;
    if (factor === null && has(MULTIPLIERS, ending.slice(0, 1)) && !exponent) {
      const rest = ending.slice(1).trimStart();
      power = MULTIPLIERS[ending[0]];
      factor = rest || !hasPrefixes(unit) ? factorOf(sign + rest, unit) : null;
    }
    if (factor === null) {
      return { advice: adviceOn(asWritten, ending, unit) };
    }
    return { value: Number(power ? number + "e" + power : number) * factor };
  }

  // A number in a unit, as messages call it.
  function nounOf(unit, isWhole) {
    const kind = isWhole ? "a whole number" : "a number";
    return unit ? `${kind} ${unit.includes("/") || hasPrefixes(unit) ? "in" : "of"} ${WORDS[unit] || unit}` : kind;
  }

  return { parse, nounOf };
})();
