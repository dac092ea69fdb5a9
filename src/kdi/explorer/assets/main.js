// The page: reads the embedded data, builds a card per feature and the correlation section, and draws what is visible.

const PRESETS = [0, 0.1, 0.3, 1, 3, Infinity];
const DRAW_MARGIN = "600px"; // around the window: cards within it are drawn

async function readContents() {
  const bytes = decodeBase64(document.getElementById("data").textContent);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

class Page {
  constructor(contents) {
    this.contents = contents;
    this.kernel = { order: contents.order, scale: contents.scale };
    this.alphas = contents.alphas.map((alpha) => alpha ?? Infinity);
    this.step = this.alphas.indexOf(1);
    this.showAll = false;
    this.printing = false;
    this.near = new Set();
    this.waiting = false;
    this.cards = contents.features.map((feature, index) => new FeatureCard(feature, index, this));
    this.get = (id) => document.getElementById(id);
    this.handleLinks();
    this.writeHeader();
    this.get("cards").append(...this.cards.map((card) => card.element));
    this.buildBar();
    this.buildFilter();
    this.buildCode();
    this.writeLeftOutAndCorrelations();
    this.observeCards();
  }

  writeHeader() {
    const { rows, features, version, source, title } = this.contents;
    const parts = [`${formatExactly(rows)} ${rows === 1 ? "row" : "rows"}`, `${features.length} ${features.length === 1 ? "feature" : "features"}`];
    if (source && source !== title) parts.unshift(source);
    this.get("summary").textContent = `${parts.join(" · ")} · kdi ${version}`;
  }

  // In the frame of a notebook, a link to a section of this page would lead to the notebook.
  handleLinks() {
    for (const link of document.querySelectorAll("a[href^='#']")) {
      link.addEventListener("click", (event) => {
        event.preventDefault();
        const target = this.get(link.getAttribute("href").slice(1));
        target.tabIndex = -1;
        target.focus({ preventScroll: true });
        target.scrollIntoView();
      });
    }
  }

  buildBar() {
    this.slider = this.get("alpha");
    this.output = this.get("alpha-output");
    this.slider.max = this.alphas.length - 1;
    this.slider.addEventListener("input", () => this.choose(Number(this.slider.value)));
    for (const alpha of PRESETS) {
      const text = alpha === 0 ? "0 quantile" : alpha === Infinity ? "∞ min-max" : formatAlpha(alpha);
      const button = make("button", { type: "button" }, text);
      button.addEventListener("click", () => this.choose(this.alphas.indexOf(alpha)));
      this.get("presets").append(button);
    }
    this.get("whole-range").addEventListener("change", (event) => {
      this.showAll = event.target.checked;
      this.redraw();
    });
    this.writeAlpha();
  }

  // Set one alpha for all features.
  choose(step) {
    this.step = step;
    for (const card of this.cards) card.step = step;
    this.writeAlpha();
    this.redraw();
    announce(`alpha ${describeAlpha(this.alphas[step])}`);
  }

  // Called when the alpha of a single feature has changed.
  alphaChanged() {
    this.writeAlpha();
  }

  get isUniform() {
    return this.cards.every((card) => card.step === this.cards[0].step);
  }

  writeAlpha() {
    if (this.isUniform) this.step = this.cards[0].step;
    this.slider.value = this.step;
    const text = this.isUniform ? describeAlpha(this.alphas[this.step]) : "several";
    this.output.textContent = text;
    this.slider.setAttribute("aria-valuetext", text);
    this.writeCode();
  }

  // Redraw at most once per animation frame, however fast the slider moves.
  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      performance.mark("kdi-redraw-start");
      for (const card of this.near) card.draw();
      performance.clearMeasures("kdi-redraw");
      performance.measure("kdi-redraw", "kdi-redraw-start");
      performance.clearMarks("kdi-redraw-start");
    });
  }

  // Draw cards when they come near the window, and all of them before printing.
  observeCards() {
    const cardOf = new Map(this.cards.map((card) => [card.element, card]));
    const observer = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) {
          const card = cardOf.get(target);
          if (isIntersecting) this.near.add(card);
          else this.near.delete(card);
          if (isIntersecting) card.draw();
        }
      },
      { rootMargin: DRAW_MARGIN },
    );
    for (const card of this.cards) {
      if (card.element.getBoundingClientRect().top < window.innerHeight) {
        this.near.add(card);
        card.draw();
      }
      observer.observe(card.element);
    }
    window.addEventListener("resize", () => this.redraw());
    const print = (printing) => {
      this.printing = printing;
      this.get("left-out").open = printing;
      for (const card of this.cards) if (printing || card.isBuilt) card.draw();
    };
    window.addEventListener("beforeprint", () => print(true));
    window.addEventListener("afterprint", () => print(false));
  }

  buildFilter() {
    const field = this.get("filter");
    field.closest("p").hidden = this.cards.length < 7;
    field.addEventListener("input", () => {
      const wanted = field.value.trim().toLowerCase();
      let found = 0;
      for (const card of this.cards) {
        card.element.hidden = !card.feature.name.toLowerCase().includes(wanted);
        if (!card.element.hidden) found += 1;
      }
      this.get("found").textContent = wanted ? `${found} of ${this.cards.length}` : "";
      this.redraw();
    });
  }

  buildCode() {
    const copy = this.get("copy");
    copy.hidden = !navigator.clipboard;
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(this.get("code").textContent);
        copy.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(this.get("code"));
        copy.textContent = "Selected: press Ctrl+C to copy";
      }
      setTimeout(() => {
        copy.textContent = "Copy";
      }, 3000);
    });
  }

  // Write the Python code of the transformer with these alphas. A JSON string is a valid Python string.
  writeCode() {
    const toPython = (alpha) => (alpha === Infinity ? 'float("inf")' : formatAlpha(alpha));
    const own = this.cards.filter((card) => card.alpha !== 1).map((card) => `    ${JSON.stringify(card.feature.name)}: ${toPython(card.alpha)},\n`);
    const several = this.contents.has_names ? `{\n${own.join("")}}` : `[${this.cards.map((card) => toPython(card.alpha)).join(", ")}]`;
    const alpha = this.isUniform ? toPython(this.alphas[this.step]) : several;
    this.get("code").textContent = `from kdi import KDITransformer\n\ntransformer = KDITransformer(alpha=${alpha})\n`;
  }

  // List the columns that are left out, and say why correlations are missing.
  writeLeftOutAndCorrelations() {
    const { left_out: leftOut, correlations, no_correlations: reason, features } = this.contents;
    const list = this.get("left-out");
    list.hidden = !leftOut.length;
    list.querySelector("summary").textContent = `${leftOut.length} ${leftOut.length === 1 ? "column is" : "columns are"} not shown`;
    list.querySelector("ul").append(...leftOut.map(({ name, reason: why }) => make("li", {}, make("b", {}, name), ` ${why}.`)));
    this.get("no-correlations").textContent = reason ?? "";
    this.get("with-correlations").hidden = !correlations;
    if (!correlations) return;
    const { rows, scatter, rank_error: rankError } = correlations;
    const all = rows === this.contents.rows;
    if (rankError > 1e-3) this.get("computed").before(`Spearman's uses ranks with an error of up to ${formatNumber(rankError, 1)}. `);
    this.get("computed").textContent =
      `${all ? "" : `As some values are missing, correlations are computed from ${formatExactly(rows)} of the rows. `}` +
      `Scatters count ${scatter.rows === this.contents.rows ? "the rows" : `those of ${formatExactly(scatter.rows)} rows`} that have both values. ` +
      "Click on a pair to show its scatter.";
    this.correlations = new CorrelationView(correlations, features);
  }
}

readContents()
  .then((contents) => {
    document.body.classList.add("ready");
    window.kdiPage = new Page(contents);
    performance.mark("kdi-ready");
  })
  .catch((error) => {
    document.getElementById("summary").textContent = `This page cannot be shown: ${error.message}`;
    throw error;
  });
