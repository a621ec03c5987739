// What every page must hold to, judged inside the browser: names, labels, headings, tables, contrast,
// room. Returns the faults in words.
export async function faultsOf(page) {
  return page.evaluate(() => {
    const faults = [];
    const say = (what, element) => faults.push(`${what}: ${(element?.outerHTML ?? "").slice(0, 140)}`);
    const all = (selector) => [...document.querySelectorAll(selector)];
    const isShown = (element) => element.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true });
    const textOf = (id) => document.getElementById(id)?.textContent.trim() ?? "";
    const nameOf = (element) => {
      const by = element.getAttribute("aria-labelledby");
      if (by) return by.split(/\s+/).map(textOf).join(" ").trim();
      const label = element.getAttribute("aria-label");
      if (label) return label.trim();
      if (element.labels?.length) return [...element.labels].map((one) => one.textContent).join(" ").trim();
      return element.textContent.trim() || (element.getAttribute("title") ?? "");
    };

    if (!document.documentElement.lang) faults.push("no language");
    if (!document.title.trim()) faults.push("no title");
    for (const [selector, name] of [["main", "main"], ["body > header", "header"], ["body > footer", "footer"], ["h1", "h1"]]) {
      if (all(selector).length !== 1) faults.push(`${all(selector).length} × ${name}`);
    }
    let level = 0;
    for (const heading of all("h1,h2,h3,h4,h5,h6")) {
      const now = Number(heading.tagName[1]);
      if (now > level + 1) say(`heading jumps from ${level} to ${now}`, heading);
      if (!heading.textContent.trim()) say("empty heading", heading);
      level = now;
    }
    for (const field of all("input:not([type=hidden]),select,textarea")) {
      const bound = field.labels?.length || field.getAttribute("aria-label") || field.getAttribute("aria-labelledby");
      if (!bound || !nameOf(field)) say("field without label", field);
    }
    for (const control of all("a[href],button,summary")) if (!nameOf(control)) say("control without name", control);
    for (const picture of all("svg")) {
      if (picture.getAttribute("aria-hidden") === "true") continue;
      if (picture.getAttribute("role") !== "img" || !nameOf(picture)) say("picture without name", picture);
      if (!picture.closest("figure")?.querySelector("details table")) say("picture without its figures", picture);
    }
    const ids = all("[id]").map((element) => element.id);
    for (const id of new Set(ids)) if (ids.filter((other) => other === id).length > 1) faults.push(`id ${id} twice`);
    for (const attribute of ["aria-labelledby", "aria-describedby", "for", "list"]) {
      for (const element of all(`[${attribute}]`)) {
        for (const id of element.getAttribute(attribute).split(/\s+/)) if (!document.getElementById(id)) say(`${attribute} leads nowhere`, element);
      }
    }
    for (const table of all("table")) {
      if (!table.querySelector("thead th[scope=col]")) say("table without heads", table);
      for (const head of table.querySelectorAll("th:not([scope])")) say("head without scope", head);
    }
    for (const element of all("[tabindex]")) if (Number(element.getAttribute("tabindex")) > 0) say("positive tabindex", element);
    // What a browser makes of a list inside a paragraph: two paragraphs around it, one of them empty.
    for (const paragraph of all("p")) if (!paragraph.textContent.trim()) say("empty paragraph", paragraph);
    const places = all("section[aria-label],section[aria-labelledby],nav,[role=region]").map((element) => [element.tagName === "NAV" ? "navigation" : "region", nameOf(element)].join(" "));
    for (const place of new Set(places)) if (places.filter((other) => other === place).length > 1) faults.push(`two places are called ${place}`);
    for (const cell of all(".receipt th,.receipt td,table.cards th,table.cards td")) {
      const [box, room] = [cell.getBoundingClientRect(), cell.closest(".scroll").getBoundingClientRect()];
      if (isShown(cell) && !cell.closest("thead") && (cell.closest(".receipt") || visualViewport.width < 700) && (box.right > room.right + 1 || box.left < room.left - 1)) say("cell outside of its box", cell);
    }
    for (const tick of all("svg .tick")) {
      const size = parseFloat(getComputedStyle(tick).fontSize) * tick.getScreenCTM().a;
      if (isShown(tick) && size < 9) { say(`label of ${size.toFixed(1)} px`, tick); break; }
    }
    if (visualViewport.width < 700) {
      for (const link of all("main a, main summary, main label")) {
        const box = link.getBoundingClientRect();
        if (isShown(link) && box.height > 0 && box.height < 24 && !link.closest(".chips,.field:not(.check),p:not(.tools,.pages,.notice)")) say(`${box.height.toFixed(0)} px for a finger`, link);
      }
    }
    for (const time of all("time")) if (!/^\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\dZ)?$/.test(time.getAttribute("datetime") ?? "")) say("time without datetime", time);
    if (all("[style],style,script").length) say("inline style or script", document.querySelector("[style],style,script"));
    for (const element of all("body *")) {
      const style = getComputedStyle(element);
      const scrolls = /auto|scroll/.test(style.overflowX) && element.scrollWidth > element.clientWidth + 1;
      if (isShown(element) && scrolls && element.tabIndex < 0) say("cannot be scrolled by keyboard", element);
    }
    for (const button of all("button")) {
      const box = button.getBoundingClientRect();
      if (isShown(button) && (box.width < 24 || box.height < 24)) say("button too small", button);
    }
    const root = document.documentElement;
    // On a phone a page that is too wide widens the window with it; what is seen of it stays.
    const seenWidth = visualViewport.width * visualViewport.scale;
    if (root.scrollWidth > seenWidth + 1) {
      const wide = all("body *").find((element) => element.getBoundingClientRect().right > seenWidth + 1 && !element.closest(".scroll,.unseen,pre"));
      say(`page is ${root.scrollWidth} wide in ${seenWidth}`, wide);
    }

    // Contrast as WCAG computes it.
    const colour = (text) => {
      const [r, g, b, a = 1] = (text.match(/[\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
      return { r, g, b, a };
    };
    const light = ({ r, g, b }) => {
      const part = (value) => ((value /= 255) <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
      return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
    };
    const behind = (element) => {
      for (let at = element; at; at = at.parentElement) {
        const back = colour(getComputedStyle(at).backgroundColor);
        if (back.a === 1) return back;
      }
      return colour(getComputedStyle(root).colorScheme.includes("dark") && matchMedia("(prefers-color-scheme: dark)").matches ? "rgb(0,0,0)" : "rgb(255,255,255)");
    };
    const seen = new Set();
    for (const element of all("body *")) {
      const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
      if (!hasText || !isShown(element) || element.closest(".unseen,title,desc,option")) continue;
      const style = getComputedStyle(element);
      const front = colour(element instanceof SVGElement ? style.fill : style.color);
      const [high, low] = [light(front), light(behind(element))].sort((one, other) => other - one);
      const ratio = (high + 0.05) / (low + 0.05);
      const size = parseFloat(style.fontSize);
      const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      const key = `${element.className.baseVal ?? element.className}|${ratio.toFixed(2)}`;
      if (ratio < (isLarge ? 3 : 4.5) && !seen.has(key)) {
        seen.add(key);
        say(`contrast ${ratio.toFixed(2)}`, element);
      }
    }
    for (const bar of all("svg .bar")) {
      const style = getComputedStyle(bar);
      const edge = colour(style.stroke === "none" ? style.fill : style.stroke);
      const [high, low] = [light(edge), light(behind(bar))].sort((one, other) => other - one);
      if ((high + 0.05) / (low + 0.05) < 3) { say("bar hardly seen", bar); break; }
    }
    return faults;
  });
}

// What axe finds. Pages that load themselves again say so and can be stopped.
export async function axeFaultsOf(page, axe) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { rules: { "meta-refresh": { enabled: false } } }));
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 140)}`);
}
