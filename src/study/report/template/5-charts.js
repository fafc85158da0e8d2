/* Charts: lines over a shared axis, drawn as SVG, each with its numbers in a table below. */

const WIDE = 340, HIGH = 210, LEFT = 38, RIGHT = 8, TOP = 10, BOTTOM = 34;

/* About five round steps that hold low..high. */
function ticksOf(low, high) {
    const raw = (high - low || 1) / 4, unit = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map(m => m * unit).find(s => s >= raw);
    const ticks = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++)
        ticks.push(Number((i * step).toPrecision(12)));
    return ticks;
}

/* The first tick that is not below `high`. */
function roundUp(low, high) {
    const ticks = ticksOf(low, high), last = ticks[ticks.length - 1];
    return last >= high ? high : Number((last + ticks[1] - ticks[0]).toPrecision(12));
}

function isNumber(x) {
    return typeof x === "number" && Number.isFinite(x);
}

/* x: numbers, or names that stand at equal distances; series: {name, values, kind}; low, high: of y, or from
 * the values.  Points without a value are gaps. */
function lineChart(o) {
    const place = o.x.map((x, i) => typeof x === "number" && !o.steps ? x : i);
    const values = o.series.flatMap(s => s.values).filter(isNumber);
    const low = o.low !== undefined ? o.low : Math.min(0, ...values), most = o.high !== undefined ? o.high : Math.max(...values, low + 1e-9);
    const high = roundUp(low, most), first = Math.min(...place), last = Math.max(...place);
    const px = v => LEFT + (last > first ? (v - first) / (last - first) : 0.5) * (WIDE - LEFT - RIGHT);
    const py = v => HIGH - BOTTOM - (v - low) / (high - low) * (HIGH - TOP - BOTTOM);
    const yTicks = ticksOf(low, high);
    const named = o.x.map((x, i) => [place[i], typeof x === "number" ? general(x) : x]);
    const every = Math.ceil(named.length / 7);
    const xTicks = o.steps || typeof o.x[0] !== "number" ? named.filter((t, i) => i % every === 0)
        : ticksOf(first, last).map(t => [t, general(t)]);

    return svg("svg", { class: "chart", viewBox: "0 0 " + WIDE + " " + HIGH, role: "img", "aria-label": o.title + ": " + o.series.map(s => s.name).join(", ") },
        yTicks.map(t => [svg("line", { class: "rule", x1: LEFT, x2: WIDE - RIGHT, y1: py(t), y2: py(t) }),
            svg("text", { class: "tick end", x: LEFT - 6, y: py(t) + 3.5 }, general(t))]),
        xTicks.map(([v, name]) => svg("text", { class: "tick middle", x: px(v), y: HIGH - BOTTOM + 15 }, name)),
        svg("text", { class: "axis middle", x: (LEFT + WIDE - RIGHT) / 2, y: HIGH - 4 }, o.xName),
        o.series.map(s => pathsOf(s.values, place, px, py).map(d => svg("path", { class: "line " + s.kind, d: d }))));
}

/* One path for each run of values. */
function pathsOf(values, place, px, py) {
    const paths = [];
    let run = "";
    values.forEach((v, i) => {
        if (isNumber(v)) {
            run += (run ? "L" : "M") + px(place[i]).toFixed(1) + " " + py(v).toFixed(1);
        } else if (run) {
            paths.push(run);
            run = "";
        }
    });
    if (run)
        paths.push(run);
    return paths.map(d => d.includes("L") ? d : d + "h.1");
}

/* Sets of an evaluation, in the order of what people ask: kind is how it is drawn. */
const SETS = [["text", "texts", "main"], ["text_with_paraphrases", "texts and paraphrases", "second"], ["centroid", "centroids", "third"],
    ["halves", "[real texts]", "halves"], ["unrelated", "[unrelated corpus]", "unrelated"]];

/* series of those sets that a section has; pick: its values. */
function seriesOf(section, pick) {
    return SETS.filter(([key]) => section[key]).map(([key, name, kind]) => ({ name: name, kind: kind, values: pick(section[key]) }))
        .filter(s => Array.isArray(s.values) && s.values.some(isNumber));
}

function legend(series) {
    const seen = new Map(series.map(s => [s.name, s.kind]));
    return el("ul", { class: "legend" }, [...seen].map(([name, kind]) => el("li", null,
        svg("svg", { viewBox: "0 0 22 8", "aria-hidden": "true" }, svg("path", { class: "line " + kind, d: "M1 4H21" })), name)));
}

/* Small charts side by side under one heading, one sentence and one legend; values: their tables. */
function chartBlock(id, name, sentence, charts) {
    const drawn = charts.filter(c => c && c.series.length > 0);
    if (drawn.length === 0)
        return null;
    return el("section", { class: "chart-block", "aria-labelledby": id }, heading(3, id, name), el("p", null, sentence),
        legend(drawn.flatMap(c => c.series)),
        el("div", { class: "charts" }, drawn.map(c => el("figure", null, el("figcaption", null, c.title), lineChart(c)))),
        el("details", { class: "whole" }, el("summary", null, "The numbers"),
            drawn.map(c => table(c.title, [c.xName, ...c.series.map(s => s.name)],
                c.x.map((x, i) => [typeof x === "number" ? general(x) : x, ...c.series.map(s => isNumber(s.values[i]) ? general(s.values[i]) : dash)])))));
}
