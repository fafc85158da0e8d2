/* The page, from top to bottom. */

function showContents() {
    const entries = [["overview", "Overview"], ["texts", byThemes ? "Themes" : "Texts"], ["privacy", "Privacy"], ["quality", "Quality"], ["making", "Making"]]
        .filter(([id]) => !document.getElementById(id).hidden);
    document.getElementById("contents").append(el("ul", null, entries.map(([id, name]) => el("li", null, el("a", { href: "#" + id }, name)))));
}

showOverview();
showTexts();
showPrivacy();
showQuality();
showMaking();
showContents();
