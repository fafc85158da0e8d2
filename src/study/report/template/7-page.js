/* The page, from top to bottom. */

function showContents() {
    const entries = [["overview", "Overview"], ["texts", byThemes ? "Themes" : "Texts"], ["privacy", "Privacy"], ["quality", "Quality"], ["making", "Making"]]
        .filter(([id]) => !document.getElementById(id).hidden);
    document.getElementById("contents").append(el("ul", null, entries.map(([id, name]) => el("li", null, el("a", { href: "#" + id }, name)))));
}

/* One that cannot be drawn takes no other with it. */
for (const [id, show] of [["overview", showOverview], ["texts", showTexts], ["privacy", showPrivacy], ["quality", showQuality], ["making", showMaking]])
    add(id, attempt(show));
showContents();
