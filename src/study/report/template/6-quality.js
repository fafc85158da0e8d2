/* How good it is: the numbers of an evaluation, each beside its references in brackets. */

/* "0.983 [0.991 · 0.120]" */
function scored(value, references) {
    const some = references.some(isNumber);
    return [decimals(value), some ? el("span", { class: "reference" }, " [" + references.map(r => decimals(r)).join(" · ") + "]") : null];
}

function referenceOf(kind, key) {
    const r = evaluation.reference || {};
    return ["halves", "unrelated"].map(name => r[name] && r[name][kind] ? r[name][kind][key] : null);
}

function cellReference(kind, key) {
    const r = evaluation.reference || {};
    return ["halves", "unrelated"].map(name => r[name] && r[name].cell && r[name].cell[kind] && isNumber(r[name].cell[kind][key]) ? r[name].cell[kind][key] : null);
}

/* What stands beside a number of a level: the same key of the same level. */
function besideLevel(level, ...keys) {
    return ["halves", "unrelated"].map(name => keys.reduce((o, k) => o === null || o === undefined ? null : o[k],
        level.reference ? level.reference[name] : null)).map(v => isNumber(v) ? v : null);
}

function scoreTable(kind, caption) {
    const sets = [["text", "texts"], ["text_with_paraphrases", "texts and paraphrases"], ["centroid", "centroids"], ["cell", "cells"]]
        .filter(([key]) => evaluation[key] && evaluation[key][kind]);
    return sets.length === 0 ? null : table(caption, ["", "precision", "recall", "F1", "distance"],
        sets.map(([key, name]) => [name, ...["precision", "recall", "f1", "l2"].map(m =>
            scored(evaluation[key][kind][m], key === "cell" ? cellReference(kind, m) : referenceOf(kind, m)))]));
}

function scores() {
    const r = evaluation.reference || {};
    const brackets = [r.halves ? "real texts, as many, drawn from one half of the originals and scored against the other" : null,
        r.unrelated ? "as many texts of a corpus that has nothing to do with them (" + clean(r.unrelated.source || "public") + ")" : null].filter(x => x);
    return el("section", { class: "chart-block", "aria-labelledby": "scores" }, heading(3, "scores", "What was found, and what is right"),
        el("p", null, "Precision is the share of what was released that lies near an original, recall the share of originals that lie near something released, distance the mean from a released one to the nearest original; near is within " +
            general(evaluation.alpha) + " × " + general(evaluation.radius) + "." +
            (brackets.length > 0 ? " In brackets: " + brackets.join("; then ") + "." : "")),
        el("div", { class: "pair" },
            scoreTable("frequent", "Against frequent originals, those with at least " + whole(evaluation.threshold) + " within the radius"),
            scoreTable("all", "Against all originals")),
        evaluation.exact && typeof evaluation.exact.any_case_blind === "number" ? el("p", null, percent(evaluation.exact.frequent_case_blind) + " of the texts are a frequent original but for upper and lower case, " +
            percent(evaluation.exact.any_case_blind) + " are some original.") : null);
}

function levelScores() {
    const list = Array.isArray(evaluation.levels) ? [...evaluation.levels, evaluation.all_levels].filter(l => l) : [];
    if (list.length === 0)
        return null;
    const labels = list.some(l => l.labels);
    return el("section", { class: "chart-block", "aria-labelledby": "by-level" }, heading(3, "by-level", "Level by level"),
        el("p", null, "Covered is the share of the originals in the released cells; centroid and text are mean distances to the true mean of their cell; rare cells have fewer originals than the threshold, empty ones none. " +
            (list.some(l => l.reference) ? "In brackets: of each cell the mean of its originals in one half, and one of these, beside those of the other half; then unrelated texts in their place." : "")),
        table("Cells and distances by level", ["level", "cells", "rare", "empty", "covered", "noise", "centroid", "text", "word for word", "F1 of texts"],
            list.map(l => [clean(l.level), whole(l.cells), whole(l.rare), whole(l.empty), scored(l.covered, besideLevel(l, "covered")), decimals(l.noise_norm),
                scored(l.centroid_l2, besideLevel(l, "centroid_l2")), scored(l.text_l2, besideLevel(l, "text_l2")),
                scored(l.exact && l.exact.any_case_blind, besideLevel(l, "exact", "any_case_blind")),
                scored(l.text && l.text.frequent && l.text.frequent.f1, besideLevel(l, "text", "frequent", "f1"))])),
        labels ? [el("p", null, "Labels: how many are more than half of a cell, as shares of cells (precision) and of labels (recall); purity is the share of originals with their cell's commonest label; the last three, how often that label's mean is the nearest to text, centroid and true mean."),
            table("Labels by level", ["level", "labels", "precision", "recall", "purity", "text", "centroid", "mean"],
                list.filter(l => l.labels).map(l => [clean(l.level), whole(l.labels.hit), ...["precision", "recall", "purity", "nearest_text", "nearest_centroid", "nearest_mean"]
                    .map(k => scored(l.labels[k], besideLevel(l, "labels", k)))]))] : null);
}

/* ---- curves -------------------------------------------------------------------------------------------- */

function curves() {
    const c = evaluation.curves;
    if (!c || !Array.isArray(c.alpha))
        return null;
    const charts = ["frequent", "all"].flatMap(kind => [["precision", "Precision"], ["recall", "Recall"], ["f1", "F1"]].map(([key, name]) => ({
        title: name + ", " + (kind === "all" ? "all originals" : "frequent originals"), x: c.alpha, xName: "α", low: 0, high: 1,
        series: seriesOf(c, set => set[kind] && set[kind][key]) })));
    return chartBlock("curves", "How near is near", "The scores above at every reach: a text is found when another lies within α times the radius, so a good release rises early.", charts);
}

function distances() {
    const d = evaluation.distances;
    if (!d || !Array.isArray(d.edges))
        return null;
    const x = d.edges.slice(0, -1).map((e, i) => (e + d.edges[i + 1]) / 2);
    const share = set => {
        const all = set ? set.counts.reduce((s, n) => s + n, set.beyond || 0) : 0;
        return all > 0 ? set.counts.map(n => n / all) : null;
    };
    return chartBlock("distances", "Distance from an original to what was released",
        "Frequent originals should lie near a released text and infrequent ones no nearer than to any other text; the share of originals in each band of distance.",
        ["frequent", "infrequent"].map(kind => ({ title: kind + " originals", x: x, xName: "distance", low: 0, series: seriesOf(d, set => share(set[kind])) })));
}

function neighbours() {
    const n = evaluation.neighbours;
    if (!n || !Array.isArray(n.from))
        return null;
    const x = n.from.map((f, i) => i + 1 < n.from.length ? n.from[i + 1] - 1 > f ? whole(f) + "–" + whole(n.from[i + 1] - 1) : whole(f) : whole(f) + "+");
    return chartBlock("neighbours", "Distance by how many write it",
        "Mean distance from an original to the nearest released one, by how many originals lie near it: it should fall where texts are shared by many, and only there.",
        [{ title: "Mean distance", x: x, xName: "originals within the radius", low: 0, series: seriesOf(n, set => set) }]);
}

function ssp() {
    const s = evaluation.ssp;
    if (!s || !Array.isArray(s.at))
        return null;
    return chartBlock("ssp", "How near it comes to what few people wrote",
        "Share of originals with fewer than t neighbours that have a released one within ψ times the radius, the lower the better; beside it the bound, where one is proved, and what real and unrelated texts in its place have.",
        s.at.map(at => ({ title: "t = " + whole(at.t) + " (" + plural(at.infrequent, "original", "originals") + ")", x: s.psi, xName: "ψ", low: 0, high: 1,
            series: [...seriesOf(at, set => set), ...[["bound", "bound"], ["bound_cell", "bound of one cell"]]
                .filter(([key]) => Array.isArray(at[key]) && at[key].some(isNumber))
                .map(([key, name]) => ({ name: name, kind: key === "bound" ? "bound" : "bound cell", values: at[key] }))] })));
}

/* ---- tables by set ---------------------------------------------------------------------------------------- */

/* A table of sets; columns: [name, function of the set]. */
function setTable(id, name, sentence, caption, section, columns) {
    const sets = section ? SETS.filter(([key]) => section[key]) : [];
    return sets.length === 0 ? null : el("section", { class: "chart-block", "aria-labelledby": id }, heading(3, id, name), el("p", null, sentence),
        table(caption, ["", ...columns.map(c => c[0])], sets.map(([key, said]) => [said, ...columns.map(c => c[1](section[key]))])));
}

function spread(s) {
    return s && isNumber(s.mean) ? decimals(s.mean) + (isNumber(s.sd) ? " ± " + decimals(s.sd) : "") : dash;
}

function lengthsText(l) {
    return l ? decimals(l.mean, 1) + " ± " + decimals(l.sd, 1) + " (" + [l.p10, l.median, l.p90].map(general).join(", ") + ")" : dash;
}

function setTables() {
    const e = evaluation, within = e.diversity && e.diversity.self_bleu_within;
    return [
        setTable("mauve", "How like the originals as a whole", "MAUVE compares two sets of texts by what they are about: 1 is indistinguishable, and the spread is over seeds.",
            "MAUVE" + (e.mauve ? " over " + whole(e.mauve.buckets) + " clusters, " + whole(e.mauve.size) + " texts a side" : ""), e.mauve, [["mean ± sd", spread]]),
        setTable("diversity", "Variety", "Self-BLEU is how much of a text is in the others (lower is more varied), distinct-n how many of the runs of n words are different." +
            (isNumber(within) ? " Among a line's own wordings, Self-BLEU is " + decimals(within) + "." : ""), "Diversity", e.diversity,
            [["texts", s => whole(s.texts)], ["Self-BLEU", s => decimals(s.self_bleu)], ...[1, 2, 3].map(n => ["distinct-" + n, s => decimals(s.distinct && s.distinct[n - 1])]),
                ["duplicates", s => decimals(s.duplicates)], ["but for case", s => decimals(s.duplicates_case_blind)]]),
        setTable("lengths", "Length", "How long the texts are: mean, standard deviation, and in parentheses the 10th, 50th and 90th percentile.", "Lengths", e.lengths,
            [["words", s => lengthsText(s.words)], ["characters", s => lengthsText(s.characters)]]),
        setTable("language", "How natural it reads", "How surprising the texts are to a small language model" + (e.language && e.language.model ? ", " + clean(e.language.model) : "") +
            ": as natural as the originals is about the same median.", "Language model", e.language,
            [["scored", s => whole(s.scored)], ["median NLL", s => decimals(s.median_nll, 2)], ["mean NLL", s => decimals(s.mean_nll, 2)],
                ["median perplexity", s => decimals(s.median_perplexity, 1)], ["mean perplexity", s => decimals(s.mean_perplexity, 1)], ["NLL ≤ 6", s => decimals(s.share_nll_at_most_6)]]),
    ];
}

function classification() {
    const c = evaluation.classification;
    if (!c)
        return null;
    const linear = c.linear || {};
    const trained = [["synthetic", "linear, trained on the release"], ["real_same_size", "[linear, on as many real texts]"], ["real", "[linear, on all real texts]"]]
        .filter(([key]) => linear[key]).map(([key, name]) => [name, spread(linear[key]), whole(linear[key].train)]);
    return el("section", { class: "chart-block", "aria-labelledby": "classification" }, heading(3, "classification", "What a classifier learns from it"),
        el("p", null, "Accuracy on " + plural(c.test, "held-out original", "held-out originals") + " with " + whole(c.labels) + " labels, mean and standard deviation over " + plural(c.seeds, "seed", "seeds") + "."),
        table("Accuracy", ["classifier", "accuracy", "trained on"], [["[always the commonest label]", spread(c.majority), dash],
            ...(c.nearest_centroid || []).map(k => [plural(k.k, "nearest centroid", "nearest centroids"), spread(k), dash]), ...trained]));
}

function comparison() {
    const others = Array.isArray(evaluation.against) ? evaluation.against : [];
    if (others.length === 0)
        return null;
    const all = [evaluation, ...others], pick = (e, ...keys) => keys.reduce((o, k) => o === null || o === undefined ? null : o[k], e);
    const kinds = ["main", "second", "third", "halves", "unrelated", "bound"];
    const f1 = e => pick(e, "curves", "text", "frequent", "f1") || pick(e, "curves", "centroid", "frequent", "f1");
    const series = all.map((e, i) => ({ name: clean(e.name || "set " + (i + 1)), kind: kinds[i % kinds.length], values: f1(e) })).filter(s => Array.isArray(s.values));
    return [el("section", { class: "chart-block", "aria-labelledby": "against" }, heading(3, "against", "Compared"),
        el("p", null, "The same originals, radius and threshold for all; the first is this release."),
        table("Side by side", ["", "texts", "precision", "recall", "F1", "centroid F1", "MAUVE", "Self-BLEU", "linear classifier"], all.map(e => [clean(e.name || dash), whole(e.synthetic),
            ...["precision", "recall", "f1"].map(k => decimals(pick(e, "text", "frequent", k))), decimals(pick(e, "centroid", "frequent", "f1")), spread(pick(e, "mauve", "text")),
            decimals(pick(e, "diversity", "text", "self_bleu")), spread(pick(e, "classification", "linear", "synthetic"))]))),
        evaluation.curves && series.length > 1 ? chartBlock("against-curves", "Compared at every reach", "F1 against the frequent originals, by how near is near.",
            [{ title: "F1", x: evaluation.curves.alpha, xName: "α", low: 0, high: 1, series: series }]) : null];
}

function missing() {
    const list = Array.isArray(evaluation.missing) ? evaluation.missing : [];
    return list.length === 0 ? null : el("section", { class: "chart-block", "aria-labelledby": "missing" }, heading(3, "missing", "What could not be computed"),
        el("ul", { class: "conditions" }, list.map(m => el("li", null, el("b", null, clean(m.metric)), ": " + clean(m.why)))));
}

function showQuality() {
    const section = document.getElementById("quality");
    if (!evaluation)
        return;
    section.hidden = false;
    add("quality", heading(2, "quality-title", "Quality"),
        el("p", { class: "lead" }, plural(evaluation.synthetic, "text", "texts") + " against " + plural(evaluation.originals, "original", "originals") + " (" + whole(evaluation.distinct) +
            " distinct), of which " + whole(evaluation.frequent) + " (" + whole(evaluation.frequent_distinct) + " distinct) are frequent."),
        [scores, levelScores, comparison, curves, distances, neighbours, ssp, setTables, classification, missing].map(attempt),
        el("details", { class: "whole" }, el("summary", null, "Everything that was measured"),
            table("The evaluation as it was written", ["key", "value"], flat(evaluation, ""), { class: "plain" })));
}
