/* The centroids on a plane, near ones beside each other.  One stop of the keyboard; arrows go from point to
 * point. */

const SIDE = 1000, MARGIN = 50;
const mapList = svg("svg", { id: "map", viewBox: [-MARGIN, -MARGIN, SIDE + 2 * MARGIN, SIDE + 2 * MARGIN].join(" "), role: "listbox", tabindex: "0",
    "aria-label": "Map of the released groups", "aria-describedby": "map-help" });
const tip = el("div", { class: "tip", role: "tooltip", id: "tip", hidden: true });
const ring = svg("circle", { class: "ring", r: 0, "aria-hidden": "true" });
const labels = el("div", { class: "labels", "aria-hidden": "true" });
const mapBox = el("div", { class: "map" }, mapList, labels, tip);
const points = [];
let active = -1;

function radius(cell) {
    const largest = cells.length > 2000 ? 16 : 30, least = cells.length > 2000 ? 3 : 6;
    return least + (largest - least) * Math.sqrt(cell.users / mostUsers);
}
const mostUsers = cells.reduce((m, c) => Math.max(m, c.users), 1);

function makePoints() {
    const byUsers = cells.map((c, i) => i).sort((a, b) => cells[b].users - cells[a].users);
    for (const i of byUsers) { // the small ones on top
        points[i] = svg("circle", { id: "p" + i, class: "point" + (isWeak(cells[i]) ? " weak" : ""), role: "option", "aria-selected": "false",
            cx: cells[i].at[0], cy: SIDE - cells[i].at[1], r: radius(cells[i]).toFixed(1), "data-cell": i });
        mapList.append(points[i]);
    }
    mapList.append(ring);
}

function placeTip(cell) {
    const x = (cell.at[0] + MARGIN) / (SIDE + 2 * MARGIN), y = (SIDE - cell.at[1] + MARGIN) / (SIDE + 2 * MARGIN);
    tip.classList.toggle("left", x > 0.5);
    tip.classList.toggle("above", y > 0.6);
    tip.style.setProperty("--x", (100 * x).toFixed(2) + "%");
    tip.style.setProperty("--y", (100 * y).toFixed(2) + "%");
}

/* Point out a cell, with or without its text beside it; -1: none. */
function pointOut(i, withText) {
    if (active >= 0)
        points[active].setAttribute("aria-selected", "false");
    active = i;
    tip.hidden = i < 0 || !withText;
    ring.setAttribute("r", i < 0 ? 0 : Number(points[i].getAttribute("r")) + 7);
    if (i < 0) {
        mapList.removeAttribute("aria-activedescendant");
        return;
    }
    const cell = cells[i], t = trust(cell);
    ring.setAttribute("cx", cell.at[0]);
    ring.setAttribute("cy", SIDE - cell.at[1]);
    points[i].setAttribute("aria-selected", "true");
    points[i].setAttribute("aria-label", shorten(title(cell), 300) + ", " + whole(cell.users) + " " + people);
    mapList.setAttribute("aria-activedescendant", "p" + i);
    tip.replaceChildren(el("p", { class: "said" }, said(title(cell))),
        el("p", { class: "small" }, whole(cell.users) + " " + people +
            (t ? " · " + (hasConfidence ? "confidence " : "similarity ") + decimals(t.value, hasConfidence ? 2 : 3) : "")));
    placeTip(cell);
}

/* The nearest visible point in a direction: as far across as along costs three times as much. */
function neighbour(from, dx, dy) {
    let best = -1, least = Infinity;
    cells.forEach((cell, i) => {
        const x = cell.at[0] - cells[from].at[0], y = cells[from].at[1] - cell.at[1];
        const along = x * dx + y * dy, across = Math.abs(x * dy - y * dx);
        if (i !== from && along >= 0 && along + across > 0 && along >= across / 2 && visible(cell) && along + 2 * across < least) {
            least = along + 2 * across;
            best = i;
        }
    });
    return best;
}

function firstPoint() {
    let best = -1;
    cells.forEach((cell, i) => {
        if (visible(cell) && (best < 0 || cell.users > cells[best].users))
            best = i;
    });
    return best;
}

mapList.addEventListener("keydown", event => {
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (way) {
        const next = active < 0 ? firstPoint() : neighbour(active, way[0], way[1]);
        event.preventDefault();
        if (next >= 0)
            pointOut(next, true);
    } else if (event.key === "Home") {
        event.preventDefault();
        pointOut(firstPoint(), true);
    } else if ((event.key === "Enter" || event.key === " ") && active >= 0) {
        event.preventDefault();
        goTo(active);
    } else if (event.key === "Escape") {
        pointOut(-1, false);
    }
});
mapList.addEventListener("focus", () => {
    if (mapList.matches(":focus-visible"))
        pointOut(active < 0 ? firstPoint() : active, true);
});
mapList.addEventListener("blur", () => pointOut(-1, false));
mapList.addEventListener("pointerover", event => {
    const at = event.target.dataset ? event.target.dataset.cell : undefined;
    if (at !== undefined)
        pointOut(Number(at), true);
});
mapList.addEventListener("pointerleave", () => pointOut(-1, false));
mapList.addEventListener("click", event => {
    if (event.target.dataset && event.target.dataset.cell !== undefined)
        goTo(Number(event.target.dataset.cell));
});

function goTo(i) {
    const summary = reveal(i);
    summary.focus();
    summary.scrollIntoView({ block: "center" });
}

/* A row that has the pointer or the focus is pointed out on the map, in silence. */
for (const kind of ["pointerover", "focusin"])
    treeList.addEventListener(kind, event => {
        const summary = event.target.closest ? event.target.closest("summary") : null;
        if (summary)
            pointOut(Number(summary.dataset.cell), false);
    });
for (const kind of ["pointerleave", "focusout"])
    treeList.addEventListener(kind, () => pointOut(-1, false));

/* ---- names on it ------------------------------------------------------------------------------------ */

/* The largest themes, as far as their names don't cover each other. */
function label() {
    const width = mapBox.clientWidth, taken = [], most = width < 420 ? 4 : 9;
    labels.replaceChildren();
    if (!hasText || width === 0)
        return;
    for (const node of roots.slice().sort(orders.users).slice(0, 40)) {
        if (taken.length >= most)
            return;
        const cell = node.cell, name = el("span", null, shorten(title(cell), 26));
        const x = (cell.at[0] + MARGIN) / (SIDE + 2 * MARGIN) * width, y = (SIDE - cell.at[1] + MARGIN) / (SIDE + 2 * MARGIN) * width;
        if (typeof cell.text !== "string" || isWeak(cell))
            continue;
        labels.append(name);
        const w = name.offsetWidth, h = name.offsetHeight, r = radius(cell) / (SIDE + 2 * MARGIN) * width + 3;
        const left = Math.min(Math.max(8, x - w / 2), width - w - 8), top = y - r - h > 0 ? y - r - h : y + r;
        const box = [left - 4, top - 1, left + w + 4, top + h + 1];
        if (taken.some(t => box[0] < t[2] && t[0] < box[2] && box[1] < t[3] && t[1] < box[3])) {
            name.remove();
            continue;
        }
        name.style.left = left + "px";
        name.style.top = top + "px";
        taken.push(box);
    }
}

function showMap() {
    makePoints();
    new ResizeObserver(label).observe(mapBox);
    onFilter = () => {
        const all = !query && !onlyGood;
        cells.forEach((cell, i) => points[i].classList.toggle("off", !all && !visible(cell)));
        labels.hidden = !all;
        pointOut(-1, false);
    };
}

/* ---- both ------------------------------------------------------------------------------------------- */

function showTexts() {
    const search = el("input", { type: "search", id: "search", autocomplete: "off", spellcheck: "false" });
    const sort = el("select", { id: "sort" }, el("option", { value: "users" }, "most " + people),
        el("option", { value: "trust" }, hasConfidence ? "confidence" : "similarity"), el("option", { value: "text" }, "A to Z"));
    const good = el("input", { type: "checkbox", id: "only-good" });
    let timer = 0;

    search.addEventListener("input", () => {
        clearTimeout(timer);
        timer = setTimeout(() => {
            query = clean(search.value).trim().toLowerCase();
            showTree();
        }, 120);
    });
    sort.addEventListener("change", () => { order = sort.value; showTree(); });
    good.addEventListener("change", () => { onlyGood = good.checked; showTree(); });
    add("texts",
        heading(2, "texts-title", byThemes ? "Themes and texts" : "Texts"),
        cells.length === 0 ? null : el("p", { class: "lead" }, hasText
            ? "Each line stands for a group of " + (people === "people" ? "people who write" : "records that say") + " nearly the same. The sentence was written for the group's noisy average: it need not be anybody's wording, and where the mark is hollow it may be wrong."
            : "These groups were released without texts."),
        cells.length === 0 ? el("p", { class: "notice" }, "No group was released.") : el("div", { class: "beside" },
            el("div", { class: "list" },
                el("div", { class: "tools", role: "search" },
                    el("label", { class: "wide" }, el("span", null, "Search"), search),
                    el("label", null, el("span", null, "Order"), sort),
                    el("label", { class: "check" }, good, el("span", null, "Hide what may be wrong"))),
                tally,
                el("div", { class: "heads", "aria-hidden": "true" }, el("span", null, people), el("span", null, "text"),
                    el("span", null, hasText ? hasConfidence ? "confidence" : "similarity" : "")),
                treeList),
            el("aside", { class: "chart-side", "aria-label": "Map" }, mapBox,
                el("p", { class: "small", id: "map-help" },
                    "A point is a group, its size the number of " + people + "; groups of like meaning lie near each other" +
                    (cells.some(isWeak) ? ", and hollow ones may be wrong" : "") +
                    ". Distances and directions mean nothing else. Arrow keys go from point to point, Enter to its line."))));
    if (cells.length === 0)
        return;
    showMap();
    showTree();
}
