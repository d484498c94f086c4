// Draws the charts in #specs. Colours are variables of the style sheet, so charts follow the colour scheme.
"use strict";
(function () {
  const page = JSON.parse(document.getElementById("specs").textContent);
  const options = {
    actions: false, renderer: "svg", ast: true, config: page.config, defaultStyle: false,
    logLevel: 1, tooltip: { theme: "page", disableDefaultStyle: true }, loader: { target: "_self" },
  };

  function draw(key) {
    const element = document.getElementById(key);
    const description = element.dataset.alt;
    element.textContent = "";
    const spec = Object.assign({ description, autosize: { type: "fit-x", contains: "padding" } }, page.charts[key]);
    return vegaEmbed(element, spec, options).then(function () {
      element.querySelectorAll("input[type=range]").forEach(function (input) {
        input.setAttribute("aria-label", "round");
      });
    });
  }

  Promise.all(Object.keys(page.charts).map(draw)).then(function () {
    document.documentElement.dataset.drawn = "yes";
  });

  // on a narrow screen the list of sections is closed
  if (window.matchMedia("(max-width: 68rem)").matches) document.querySelector(".menu").removeAttribute("open");

  // charts are resized for the paper
  window.addEventListener("beforeprint", function () { window.dispatchEvent(new Event("resize")); });
})();
