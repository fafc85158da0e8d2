/* The texts as a tree: a leaf is a released cell; a branch is a theme, a public cell with what it holds, or
 * several wordings of one thing. */

const levels = Array.isArray(parameters.levels) ? parameters.levels : [];
const byThemes = levels.length > 1 || levels.some(l => l.codebook);
const hasConfidence = cells.some(c => typeof c.confidence === "number");
const hasText = cells.some(c => typeof c.text === "string");

function isPublicCell(cell) {
    return Boolean(levels[cell.level] && levels[cell.level].codebook);
}

/* How much a line is to be trusted: its confidence, or as the terminal marks it; of a public cell, whose
 * members say different things, a low similarity says little. */
function trust(cell) {
    if (typeof cell.text !== "string")
        return null;
    if (typeof cell.confidence === "number")
        return { value: cell.confidence, grade: cell.confidence >= 0.9 ? "high" : cell.confidence >= about.weak_below ? "middle" : "low" };
    if (typeof cell.similarity === "number")
        return { value: cell.similarity, grade: cell.similarity >= 0.98 ? "high" : isPublicCell(cell) ? "middle" : "low" };
    return null;
}

function isWeak(cell) {
    const t = trust(cell);
    return t !== null && t.grade === "low";
}

function title(cell) {
    if (typeof cell.text === "string")
        return cell.text;
    return typeof cell.around === "string" ? "around: " + cell.around : "no text";
}

function gradeName(grade) {
    return { high: "likely right", middle: "uncertain", low: "may be wrong" }[grade];
}

/* ---- who stands below whom ---------------------------------------------------------------------- */

/* A theme is the lines of one `theme`, here as on the terminal; one without stands by itself. */
function themeOf(i) {
    if (!byThemes)
        return "all";
    return cells[i].theme === null || cells[i].theme === undefined ? "of itself " + i : cells[i].theme;
}

/* Of each line the one with the most users among the near wordings of its theme. */
const leaders = (() => {
    const first = new Map(), keys = cells.map((cell, i) => themeOf(i) + " " + cell.group);
    cells.forEach((cell, i) => {
        const other = first.get(keys[i]);
        if (other === undefined || cell.users > cells[other].users)
            first.set(keys[i], i);
    });
    return keys.map(key => first.get(key));
})();

const containers = new Array(cells.length).fill(-1);

function reaches(from, to) {
    for (let i = from; i >= 0; i = containers[i])
        if (i === to)
            return true;
    return false;
}

cells.forEach((cell, i) => {
    if (leaders[i] !== i)
        containers[i] = leaders[i];
});
cells.forEach((cell, i) => {
    const holder = containers[i] < 0 && cell.parent !== null ? leaders[cell.parent] : -1;
    if (holder >= 0 && themeOf(holder) === themeOf(i) && !reaches(holder, i))
        containers[i] = holder;
});

/* Far deeper than levels and wordings go: a folder that somebody made up. */
const DEEPEST = 64;
cells.forEach((cell, i) => {
    for (let at = i, steps = 0; at >= 0; at = containers[at])
        if (++steps > DEEPEST) {
            containers[i] = -1;
            return;
        }
});

const below = cells.map(() => []);
cells.forEach((cell, i) => {
    if (containers[i] >= 0)
        below[containers[i]].push(i);
});

const nodeOf = new Array(cells.length); // the leaf of each cell

function leaf(i) {
    return nodeOf[i] = { cell: cells[i], index: i, users: cells[i].users, size: 1, children: [], up: null };
}

/* head: the cell whose text stands for it. */
function branch(head, children) {
    const node = { cell: cells[head], index: head, users: 0, size: 0, children: children, up: null };
    children.sort((a, b) => b.users - a.users);
    for (const child of children) {
        child.up = node;
        node.users += child.users;
        node.size += child.size;
    }
    return node;
}

function leaves(node) {
    return node.children.length === 0 ? [node] : node.children.flatMap(leaves);
}

function build(i) {
    return below[i].length === 0 ? leaf(i) : branch(i, [leaf(i), ...below[i].map(build)]);
}

/* Of a theme, the largest line that is to be trusted, if there is one. */
function headOf(nodes) {
    const bySize = nodes.flatMap(leaves).sort((a, b) => b.users - a.users);
    return (bySize.find(l => typeof l.cell.text === "string" && !isWeak(l.cell)) || bySize[0]).index;
}

function buildRoots() {
    const themes = new Map(), roots = [];
    cells.forEach((cell, i) => {
        if (containers[i] >= 0)
            return;
        const key = byThemes ? themeOf(i) : i;
        if (!themes.has(key))
            themes.set(key, []);
        themes.get(key).push(i);
    });
    for (const list of themes.values()) {
        const parts = list.map(build), children = parts.length === 1 ? parts[0].children : parts;
        roots.push(children.length === 0 ? parts[0] : branch(headOf(children), children));
    }
    return roots;
}

const roots = buildRoots();
const most = roots.reduce((m, r) => Math.max(m, r.users), 1);

/* ---- rows ----------------------------------------------------------------------------------------- */

const rows = new Map();  // node: its <details>, where it was made
let query = "";

function matches(cell) {
    return !query || [cell.text, cell.around, ...(cell.texts || []), ...(cell.paraphrases || [])]
        .some(t => typeof t === "string" && clean(t).toLowerCase().includes(query));
}

function trustMark(cell) {
    const t = trust(cell);
    if (!t)
        return el("span", { class: "trust" });
    return el("span", { class: "trust " + t.grade, title: gradeName(t.grade) },
        el("span", { class: "dot", "aria-hidden": "true" }),
        el("span", { class: "unseen" }, (hasConfidence ? "confidence " : "similarity ")), decimals(t.value, hasConfidence ? 2 : 3),
        el("span", { class: "unseen" }, ", " + gradeName(t.grade)));
}

function facts(pairs) {
    return el("dl", { class: "facts" }, pairs.filter(p => p[1] !== "–").map(([name, value]) =>
        el("div", null, el("dt", null, name), el("dd", null, value))));
}

function further(name, texts) {
    return texts && texts.length > 0
        ? el("div", { class: "further" }, el("p", null, name), el("ul", null, texts.map(t => el("li", null, said(t, query)))))
        : null;
}

function leafBody(node) {
    const c = node.cell, level = levels[c.level];
    return el("div", { class: "body" },
        c.unreadable ? el("p", { class: "why" }, "No text: " + clean(c.unreadable) + ".") : null,
        facts([["estimated " + people, decimals(c.users, 1)], ["count", whole(c.count)],
            ["similarity", decimals(c.similarity)], ["planned noise", decimals(c.noise_norm)],
            ["same meaning", decimals(c.confidence, 2)], ["word for word", decimals(c.confidence_exact, 2)],
            ["level", byThemes && level ? clean(level.name) : "–"]]),
        further("Also typical of it", c.texts), further("Other wordings", c.paraphrases),
        typeof c.around === "string" ? further("A public sentence near it", [c.around]) : null);
}

function row(node) {
    const c = node.cell, isLeaf = node.children.length === 0;
    const bar = el("span", { class: "bar", "aria-hidden": "true" }, el("span"));
    const text = el("span", { class: typeof c.text === "string" ? "text" : "text none" }, said(title(c), query),
        isLeaf ? null : el("span", { class: "more" }, plural(node.size, "line", "lines")));
    const summary = el("summary", { "data-cell": node.index },
        el("span", { class: "users" }, whole(node.users), el("span", { class: "unseen" }, " " + people)), bar, text, trustMark(c));
    const details = el("details", { class: (isLeaf ? "leaf" : "branch") + (isLeaf && isWeak(c) ? " weak" : "") }, summary);
    bar.firstChild.style.inlineSize = Math.max(1.5, 100 * node.users / most) + "%";
    rows.set(node, details);
    details.addEventListener("toggle", () => unfold(node));
    return el("li", { role: "listitem" }, details);
}

/* What is below a row is made when it is wanted. */
function unfold(node) {
    const details = rows.get(node);
    if (details.childElementCount > 1)
        return;
    if (node.children.length === 0) {
        details.append(leafBody(node));
        return;
    }
    const list = el("ul", { class: "tree", role: "list" });
    details.append(list);
    lazily(list, node.children.filter(child => leaves(child).some(l => visible(l.cell))));
}

/* ---- long lists ------------------------------------------------------------------------------------ */

const CHUNK = 60;
const waiting = new Set();
const onSight = new IntersectionObserver(seen => seen.filter(s => s.isIntersecting).forEach(s => s.target.showMore()),
    { rootMargin: "800px" });

/* Rows of nodes into a list, so many at a time; the rest when its end comes near, or on demand. */
function lazily(list, nodes) {
    let made = 0;
    const button = el("button", { type: "button", class: "quiet" });
    const rest = el("li", { class: "rest" }, button);
    const all = () => { while (made < nodes.length) rest.showMore(); };
    rest.showMore = () => {
        const part = nodes.slice(made, made += CHUNK).map(row);
        rest.before(...part);
        button.textContent = "Show more (" + whole(Math.max(0, nodes.length - made)) + ")";
        if (made >= nodes.length) {
            onSight.unobserve(rest);
            waiting.delete(all);
            rest.remove();
        }
    };
    list.append(rest);
    list.until = node => { while (made < nodes.length && !rows.has(node)) rest.showMore(); };
    button.addEventListener("click", rest.showMore);
    waiting.add(all);
    rest.showMore();
    if (made < nodes.length)
        onSight.observe(rest);
}

addEventListener("beforeprint", () => waiting.forEach(all => all()));

/* ---- the section ----------------------------------------------------------------------------------- */

const treeList = el("ul", { class: "tree", role: "list", id: "tree" });
const tally = el("p", { class: "tally", role: "status", "aria-live": "polite" });
let onFilter = () => {};

const orders = {
    users: (a, b) => b.users - a.users,
    trust: (a, b) => ((trust(b.cell) || { value: -1 }).value - (trust(a.cell) || { value: -1 }).value) || b.users - a.users,
    text: (a, b) => title(a.cell).localeCompare(title(b.cell), "en"),
};
let order = "users", onlyGood = false;

function visible(cell) {
    return matches(cell) && !(onlyGood && isWeak(cell));
}

function showTree() {
    const shown = roots.filter(r => leaves(r).some(l => visible(l.cell))).sort(orders[order]);
    const found = cells.filter(visible).length;
    rows.clear();
    waiting.clear();
    treeList.replaceChildren();
    lazily(treeList, shown);
    if (query && found <= 200)
        for (const r of shown)
            if (rows.has(r) && r.children.length > 0)
                open(r);
    tally.textContent = cells.length === 0 ? "" : query || onlyGood
        ? plural(found, "line", "lines") + " of " + whole(cells.length)
        : plural(cells.length, "line", "lines") + (roots.length < cells.length
            ? " in " + plural(roots.length, byThemes ? "theme" : "group of wordings", byThemes ? "themes" : "groups of wordings") : "");
    onFilter();
}

function open(node) {
    unfold(node);
    rows.get(node).open = true;
}

/* Make a cell's row, with all above it open; its summary. */
function reveal(index) {
    const path = [];
    for (let node = nodeOf[index]; node; node = node.up)
        path.unshift(node);
    if (!visible(cells[index])) {
        document.getElementById("search").value = "";
        document.getElementById("only-good").checked = false;
        query = "";
        onlyGood = false;
        showTree();
    }
    treeList.until(path[0]);
    for (let i = 0; i + 1 < path.length; i++) {
        open(path[i]);
        rows.get(path[i]).lastElementChild.until(path[i + 1]);
    }
    return rows.get(nodeOf[index]).firstElementChild;
}

/* Arrows go from row to row, as in a tree; Enter and Space are the summary's own. */
treeList.addEventListener("keydown", event => {
    const here = event.target.closest("summary");
    if (!here || !["ArrowDown", "ArrowUp", "ArrowLeft", "ArrowRight"].includes(event.key))
        return;
    const details = here.parentElement;
    event.preventDefault();
    if (event.key === "ArrowRight" && !details.open) {
        details.open = true;
    } else if (event.key === "ArrowLeft" && details.open) {
        details.open = false;
    } else if (event.key === "ArrowLeft") {
        const up = details.parentElement.closest("details");
        if (up)
            up.firstElementChild.focus();
    } else {
        const all = [...treeList.querySelectorAll("summary")].filter(s => s.checkVisibility ? s.checkVisibility() : true);
        const next = all[all.indexOf(here) + (event.key === "ArrowUp" ? -1 : 1)];
        if (next)
            next.focus();
    }
});
