"use strict";
/* Elements, text that nobody has vouched for, and numbers.  Nothing here ever parses markup: what comes
 * from data becomes text nodes and attribute values. */

const about = JSON.parse(document.getElementById("about").textContent);
const cells = JSON.parse(document.getElementById("cells").textContent);
const release = about.release;
const parameters = release.parameters || {};
const evaluation = about.evaluation;

const people = release.privacy_unit === "user" ? "people" : "records";

function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {}))
        if (value !== null && value !== undefined && value !== false)
            element.setAttribute(name, value === true ? "" : String(value));
    for (const child of children.flat(Infinity))
        if (child !== null && child !== undefined && child !== false)
            element.append(child instanceof Node ? child : String(child));
    return element;
}

/* Children into a part of the page, which is here already. */
function add(id, ...children) {
    return fill(document.getElementById(id), null, children);
}

function el(name, attributes, ...children) {
    return fill(document.createElement(name), attributes, children);
}

/* A part of the page; where the file holds something else than is expected, a sentence in its place. */
function attempt(make) {
    try {
        return make();
    } catch (error) {
        return el("p", { class: "notice" }, "A part cannot be drawn here: the file holds something that this version does not expect.");
    }
}

function svg(name, attributes, ...children) {
    return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

/* What would steer direction or be invisible is shown as the mark of an unknown letter. */
function clean(text) {
    return String(text)
        .replace(/[\t\n\v\f\r\u0085\u2028\u2029]+/g, " ")
        .replace(/[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udfff]/g,
            "\ufffd");
}

function shorten(text, most) {
    const letters = Array.from(clean(text));
    return letters.length <= most ? letters.join("") : letters.slice(0, most - 1).join("").trimEnd() + "…";
}

/* Data as text of its own direction; parts that match `query` are marked. */
function said(text, query) {
    const shown = clean(text), at = query ? shown.toLowerCase().indexOf(query) : -1;
    if (at < 0)
        return el("bdi", { dir: "auto" }, shown);
    const end = at + query.length;
    return el("bdi", { dir: "auto" }, shown.slice(0, at), el("mark", null, shown.slice(at, end)), shown.slice(end));
}

const wholeFormat = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

function whole(x) {
    return typeof x === "number" ? wholeFormat.format(x) : "–";
}

function decimals(x, digits) {
    return typeof x === "number" ? x.toFixed(digits === undefined ? 3 : digits) : "–";
}

function percent(x) {
    if (typeof x !== "number")
        return "–";
    return (100 * x).toFixed(x > 0 && x < 0.1 ? 1 : 0) + " %";
}

/* As written in JSON, but for digits that nobody needs. */
function general(x) {
    if (typeof x !== "number")
        return x === null || x === undefined ? "–" : clean(x);
    if (Number.isInteger(x) && Math.abs(x) < 1e15)
        return whole(x);
    const short = Number(x.toPrecision(4));
    return power(Math.abs(short) < 1e-3 ? short.toExponential() : String(short));
}

/* A small number as "1.2 × 10⁻⁷"; text: as C prints it, or JavaScript. */
function power(text) {
    const parts = /^(-?[\d.]+)e([+-]?)0*(\d+)$/.exec(text);
    if (!parts)
        return text;
    const high = [...(parts[2] === "-" ? "-" : "") + parts[3]].map(d => d === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(d)]).join("");
    return (parts[1] === "1" ? "" : parts[1] + " × ") + "10" + high;
}

/* Four digits, never below x: what a privacy number is rounded to; downward: never above, what noise is. */
function upward(x) {
    return safe(x, 1);
}

function downward(x) {
    return safe(x, -1);
}

function safe(x, side) {
    if (typeof x !== "number" || x === 0)
        return general(x);
    const near = Number(x.toPrecision(4)), unit = 10 ** (Math.floor(Math.log10(Math.abs(x))) - 3);
    return general(side * near >= side * x ? near : Number((near + side * unit).toPrecision(4)));
}

function plural(n, one, many) {
    return whole(n) + " " + (n === 1 ? one : many);
}

function heading(level, id, text) {
    return el("h" + level, { id: id }, text);
}

/* A table; head: list of texts, rows: lists of texts or nodes; the first of each is its heading. */
function table(caption, head, rows, attributes) {
    const numeric = i => i > 0 ? "number" : null;
    return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
        el("table", attributes,
            el("caption", null, caption),
            el("thead", null, el("tr", null, head.map((h, i) =>
                el("th", { scope: "col", class: numeric(i) }, h)))),
            el("tbody", null, rows.map(row => el("tr", null, row.map((cell, i) => i === 0
                ? el("th", { scope: "row" }, cell) : el("td", { class: numeric(i) }, cell)))))));
}
