// Draws every chart of the page from the specifications in #specs. Colours are variables of the style sheet, so charts
// turn dark and light with the page by themselves.
"use strict";
(function () {
  const page = JSON.parse(document.getElementById("specs").textContent);
  const options = {
    actions: false, renderer: "svg", ast: true, config: page.config, defaultStyle: false,
    logLevel: 1, tooltip: { theme: "page", disableDefaultStyle: true }, loader: { target: "_self" },
  };

  function draw(key) {
    const place = document.getElementById(key);
    const alt = place.dataset.alt;
    place.textContent = "";
    const spec = Object.assign({ description: alt, autosize: { type: "fit-x", contains: "padding" } }, page.charts[key]);
    return vegaEmbed(place, spec, options).then(function (result) {
      place.dataset.drawn = "yes";
      place.querySelectorAll("input[type=range]").forEach(function (input) {
        input.setAttribute("aria-label", "round");
      });
      return result;
    });
  }

  const drawn = Object.keys(page.charts).map(draw);
  Promise.all(drawn).then(function () {
    document.documentElement.dataset.drawn = "yes";
  });

  // on a narrow screen the list of sections would fill it
  const menu = document.querySelector(".menu");
  if (window.matchMedia("(max-width: 68rem)").matches) menu.removeAttribute("open");

  // what is folded away must be there on paper
  window.addEventListener("beforeprint", function () { window.dispatchEvent(new Event("resize")); });
})();
