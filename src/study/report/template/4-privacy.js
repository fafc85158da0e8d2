/* What was released, and what it protects. */

const claim = about.claim;
const dash = "–";

function covered() {
    const all = evaluation && evaluation.all_levels;
    return all && typeof all.covered === "number" ? all.covered : null;
}

function figure(value, name, note, reference) {
    return el("div", { class: "figure" }, el("dt", null, name),
        el("dd", null, el("span", { class: "value" }, value, reference ? el("span", { class: "reference" }, reference) : null),
            note ? el("span", { class: "note" }, note) : null));
}

/* The one number that says most of what the evaluation found, beside its reference: wordings are held against
 * frequent originals, themes, of which nobody's wording need be frequent, against all. */
function qualityFigure() {
    const kind = byThemes ? "all" : "frequent";
    const set = evaluation && (evaluation.text || evaluation.centroid);
    const halves = evaluation && evaluation.reference && evaluation.reference.halves;
    if (set && set[kind] && typeof set[kind].f1 === "number")
        return figure(decimals(set[kind].f1), "F1 of " + (evaluation.text ? "texts" : "centroids"),
            "found and right, against " + (byThemes ? "all originals" : "what at least " + whole(evaluation.threshold) + " wrote") +
                (halves ? "; in brackets: real texts in their place" : ""),
            halves ? " [" + decimals(halves[kind].f1) + "]" : null);
    const graded = cells.map(trust).filter(t => t !== null);
    if (graded.length === 0 || (byThemes && !hasConfidence))
        return null;
    return figure(percent(graded.filter(t => t.grade === "high").length / graded.length), "texts likely right",
        hasConfidence ? "confidence of .9 or more" : "similarity of .98 or more to their group's noisy average");
}

function releasedTitle() {
    const n = cells.length, what = hasText ? n === 1 ? "text" : "texts" : n === 1 ? "group" : "groups";
    return n === 0 ? "Nothing was released"
        : whole(n) + " " + what + " that stand for about " + whole(cells.reduce((s, c) => s + c.users, 0)) + " " + people;
}

/* From what somebody thought to what they may think at most, on a scale from 0 to 100 %. */
function beliefChart() {
    const width = 360, left = 62, right = 62, step = 30, x = p => left + parseFloat(p) / 100 * (width - left - right);
    return el("figure", { class: "beliefs" },
        el("figcaption", null, "How sure somebody may be that one " + (people === "people" ? "person" : "record") + " took part"),
        svg("svg", { viewBox: "0 0 " + width + " " + (step * claim.beliefs.length + 22), role: "img",
            "aria-label": claim.beliefs.map(([before, after]) => before + " before, at most " + after + " after").join("; ") },
        claim.beliefs.map(([before, after], i) => {
            const y = 16 + i * step;
            return [svg("line", { class: "rule", x1: left, x2: width - right, y1: y, y2: y }),
                svg("line", { class: "gain", x1: x(before), x2: x(after), y1: y, y2: y }),
                svg("circle", { class: "before", cx: x(before), cy: y, r: 4.5 }), svg("circle", { class: "after", cx: x(after), cy: y, r: 4.5 }),
                svg("text", { class: "tick end", x: left - 12, y: y + 4 }, before), svg("text", { class: "strong", x: width - right + 12, y: y + 4 }, after)];
        }),
        svg("text", { class: "tick end", x: left - 12, y: step * claim.beliefs.length + 18 }, "before"),
        svg("text", { class: "tick end", x: width, y: step * claim.beliefs.length + 18 }, "after, at most")));
}

/* What the number says, in words that it bears out: from ε = 1.1 on one's odds change by more than threefold, from 4.6 on
 * an even chance may become 99 %. */
function promised() {
    const sure = parseFloat(claim.beliefs[0][1]), whose = " whether one " + (people === "people" ? "person" : "record") + " was part of the data. ";
    if (sure >= 99)
        return "This promise is weak: somebody who sees this release may become all but sure" + whose;
    return "Somebody who sees this release can " + (sure > 75 ? "tell only up to a point" : "hardly tell") + whose;
}

function promise() {
    if (!claim && release.private)
        return el("p", { class: "notice bad" }, "release.json states no ε and δ that could be put into words: see the statement.");
    if (!claim)
        return el("p", { class: "notice bad" }, el("strong", null, "Not private. "),
            "This release was made without noise, or so that its noise can be taken off. It must not be published.");
    return [
        el("p", null, promised() + "Who thought it ", el("b", null, claim.beliefs[0][0]), " likely before may afterwards be at most ",
            el("b", null, claim.beliefs[0][1]), " sure; who thought it ", el("b", null, claim.beliefs[2][0]), " likely, at most ",
            el("b", null, claim.beliefs[2][1]), "."),
        el("p", null, "That is ε\u00a0=\u00a0" + claim.epsilon + ". The promise may fail altogether with a chance of at most δ\u00a0=\u00a0" + power(claim.delta) +
            (claim.one_in ? ", 1 in " + whole(claim.one_in) : "") +
            (claim.fails ? ": of " + whole(parameters.population) + " " + people + " at most, for " + claim.fails + " of one in expectation" : "") + "."),
    ];
}

function notices() {
    const list = (Array.isArray(release.warnings) ? release.warnings : []).map(w => el("p", { class: "notice" }, el("strong", null, "Warning. "), clean(w)));
    if (release.left_out)
        list.push(el("p", { class: "notice" }, plural(release.left_out.cells, "released group is", "released groups are") +
            " not here: the confidence of the text is below " + general(release.left_out.min_confidence) + "."));
    if (evaluation && !about.originals_public)
        list.push(el("p", { class: "notice" }, el("strong", null, "Not for publication. "),
            "The figures of quality come from the originals without noise. fre-e2t report --public leaves them out."));
    if (evaluation && !about.evaluation_named)
        list.push(el("p", { class: "notice" }, el("strong", null, "Perhaps of another release. "),
            "The figures of quality don't name the release that they are of; they count as many cells as this one has."));
    return list;
}

function showOverview() {
    const share = covered(), fewest = parameters.threshold;
    document.title = releasedTitle() + (about.name ? " · " + clean(about.name) : "");
    add("overview", 
        el("p", { class: "eyebrow" }, about.name ? said(about.name) : "Synthetic texts under differential privacy"),
        el("h1", { id: "overview-title" }, releasedTitle()),
        el("dl", { class: "figures" },
            figure(whole(cells.length), byThemes ? plural(roots.length, "theme", "themes").replace(/^/, "groups in ") : "groups",
                "of about " + whole(fewest) + " " + people + " or more each"),
            figure(share === null ? whole(cells.reduce((s, c) => s + c.users, 0)) : percent(share), share === null ? people + " in them" : "of all originals in them",
                share === null ? "an estimate, from sampled or noisy counts"
                    : whole(evaluation.all_levels.records) + " of " + whole(evaluation.originals)),
            claim ? figure("ε " + claim.epsilon, "privacy budget", "δ " + power(claim.delta) + ", about one " + (people === "people" ? "person" : "record")) : figure(release.private ? "not stated" : "none", "privacy budget"),
            attempt(qualityFigure)),
        el("div", { class: "promises" }, el("div", { class: "promise" }, promise(), notices()), claim ? beliefChart() : null));
}

/* ---- the statement ------------------------------------------------------------------------------------ */

/* Sentences; the conditions, which end with semicolons, as a list. */
function statement() {
    const out = [];
    let list = null;
    for (const sentence of (Array.isArray(release.statement) ? release.statement : []).filter(s => typeof s === "string")) {
        const begins = sentence.startsWith("Conditions: ");
        if (begins)
            out.push(el("h3", null, "Conditions"), list = el("ul", { class: "conditions" }));
        if (list) {
            list.append(el("li", null, clean(begins ? sentence.slice(12) : sentence)));
            if (!sentence.endsWith(";"))
                list = null;
        } else {
            out.push(el("p", null, clean(sentence)));
        }
    }
    return out;
}

function beliefs() {
    return el("div", { class: "block" }, el("h3", null, "What ε lets somebody learn"),
        table("How sure somebody may be that one " + (people === "people" ? "person" : "record") + " was part of the data", ["before", "after, at most"],
            claim.beliefs.map(b => [b[0], b[1]])));
}

/* δ and the terms that make it up. */
function deltaTerms() {
    const terms = [["released cells", "delta_released", "what counts and means of released cells tell"],
        ["far members", "delta_far", "records of a cell that lie far from each other"],
        ["unreleased cells", "delta_unreleased", "a cell appears that would not have"],
        ["levels", "delta_levels", "what the levels behind the grid add"]]
        .filter(([, key]) => typeof parameters[key] === "number");
    const sum = terms.reduce((s, [, key]) => s + parameters[key], 0);
    if (terms.length === 0 || sum === 0)
        return null;
    const bar = el("div", { class: "stack", role: "img", "aria-label": "Shares of delta: " +
        terms.map(([name, key]) => name + " " + percent(parameters[key] / sum)).join(", ") });
    terms.forEach(([name, key], i) => {
        const part = el("span", { class: "part" + i, title: name });
        part.style.inlineSize = 100 * parameters[key] / sum + "%";
        bar.append(part);
    });
    return el("div", { class: "block" }, el("h3", null, "δ, term by term"), bar,
        table("What δ is made of", ["term", "δ", "share"], [
            ...terms.map(([name, key, why], i) => [[el("i", { class: "swatch part" + i, "aria-hidden": "true" }), name, el("span", { class: "why" }, why)],
                upward(parameters[key]), percent(parameters[key] / sum)]),
            ["computed for this mechanism", upward(parameters.delta), ""],
            ...(typeof parameters.delta_target === "number" ? [["stated", upward(parameters.delta_target), ""]] : [])]));
}

function mechanism() {
    const p = parameters, paper = p.accountant === "paper", c = release.certified;
    const rows = [["sampling rate", upward(p.sampling_rate)], ["least sampled count, τ", general(p.tau)], ["noise on a sum, σ", downward(p.sigma)],
        ["threshold asked for", general(p.threshold)], ["radius", general(p.radius)],
        ["at most so many " + people, general(p.population)], ["cells of one, at most", general(p.cells_per_user)],
        ["neighbouring data", p.adjacency === "replace" ? "one replaced" : "one added or removed"],
        ["accountant", p.accountant ? clean(p.accountant) : dash], ["noise", p.noise ? clean(p.noise) : dash],
        ["mode", p.distributed ? "distributed" : "curator"]];
    const accounts = [[paper ? "claimed, by the paper" : "claimed", upward(p.epsilon), upward(p.delta_target)]];
    if (c)
        accounts.push(["certified, jointly", upward(c.epsilon), upward(c.delta)]);
    if (typeof p.epsilon_fre === "number")
        accounts.push(["paper: frequencies", upward(p.epsilon_fre), upward(p.delta_fre)]);
    if (typeof p.epsilon_agg === "number")
        accounts.push(["paper: aggregation", upward(p.epsilon_agg), upward(p.delta_agg)]);
    if (typeof p.worst_case_epsilon === "number")
        accounts.push(["if texts were chosen knowing the grid", upward(p.worst_case_epsilon), upward(p.delta_target)]);
    return [el("div", { class: "block" }, el("h3", null, "Mechanism"), facts(rows)),
        el("div", { class: "block" }, el("h3", null, "Accounts"), table("ε and δ by each account", ["account", "ε", "δ"], accounts))];
}

function levelTable() {
    if (levels.length < 2)
        return null;
    const users = levels.map((l, i) => cells.reduce((s, c) => s + (c.level === i ? c.users : 0), 0));
    return el("div", { class: "block wide" }, el("h3", null, "Levels, from fine to coarse"),
        table("What each level released", ["level", "groups", people, "public cells", "counts", "least count", "noise on a sum"],
            levels.map((l, i) => [l.codebook ? clean(l.name) : "grid (wordings)", whole(l.cells), whole(users[i]), whole(l.public_cells), clean(l.counts),
                general(l.tau), downward(l.sigma)])));
}

function showPrivacy() {
    add("privacy", heading(2, "privacy-title", "Privacy"),
        el("div", { class: "columns" },
            el("div", { class: "prose" }, claim ? null : promise(), statement()),
            el("div", { class: "blocks" }, claim ? beliefs() : null, attempt(deltaTerms), attempt(mechanism))),
        attempt(levelTable));
}

/* ---- how it was made ------------------------------------------------------------------------------------ */

/* Every number and word of an object as rows of its path and its value. */
function flat(value, path) {
    if (Array.isArray(value) && value.every(v => v === null || typeof v !== "object"))
        return [[path, value.map(v => v === null ? "null" : clean(v)).join(", ")]];
    if (value !== null && typeof value === "object")
        return Object.entries(value).flatMap(([key, v]) => flat(v, path ? path + "." + clean(key) : clean(key)));
    return [[path, value === null ? "null" : clean(value)]];
}

function showMaking() {
    const models = Object.entries(release.models || {}).filter(([, m]) => m);
    add("making", heading(2, "making-title", "How it was made"),
        table("Models that the texts depend on", ["model", "SHA-256"], models.map(([role, m]) =>
            [clean(role).replaceAll("_", " ") + (m.name ? ": " + clean(m.name) : ""), el("code", null, clean(m.sha256 || dash))]), { class: "plain" }),
        el("details", { class: "whole" }, el("summary", null, "All parameters"),
            table("Parameters as release.json has them", ["key", "value"], flat(parameters, ""), { class: "plain" })));
    document.getElementById("colophon").append("Fre-E2T " + clean(release.version || "") + ". ",
        about.public ? "This report holds public figures only." : "Everything in this file is in it: it loads nothing and sends nothing.");
}
