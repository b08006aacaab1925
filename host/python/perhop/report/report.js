// SPDX-License-Identifier: GPL-2.0-or-later
// Saves figures: as they are drawn (SVG), as a picture (PNG), and what they show (CSV). Nothing is asked of anybody.
"use strict";
(() => {
  const PIXELS_PER_POINT = 3;

  // The figure in its light colours, as other programs know no variables.
  const plainSvg = (figure) => {
    const svg = figure.querySelector("svg").cloneNode(true);
    const box = svg.viewBox.baseVal;
    svg.setAttribute("width", box.width);
    svg.setAttribute("height", box.height);
    svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    const text = new XMLSerializer().serializeToString(svg);
    return text.replace(/var\(--[\w-]+,\s*(#[0-9a-fA-F]{3,8})\)/g, "$1");
  };

  const png = (figure) => new Promise((done) => {
    const text = plainSvg(figure);
    const box = figure.querySelector("svg").viewBox.baseVal;
    const picture = new Image();
    picture.onload = () => {
      const canvas = document.createElement("canvas");
      canvas.width = Math.round(box.width * PIXELS_PER_POINT);
      canvas.height = Math.round(box.height * PIXELS_PER_POINT);
      const context = canvas.getContext("2d");
      context.fillStyle = "#fff";
      context.fillRect(0, 0, canvas.width, canvas.height);
      context.drawImage(picture, 0, 0, canvas.width, canvas.height);
      canvas.toBlob(done, "image/png");
    };
    picture.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
  });

  const blobOf = async (figure, kind) => {
    if (kind === "png") return png(figure);
    if (kind === "svg") return new Blob([plainSvg(figure)], { type: "image/svg+xml" });
    return new Blob([figure.csvText ? figure.csvText() : figure.dataset.csv], { type: "text/csv" });
  };

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-as]");
    if (!button) return;
    const figure = button.closest("figure");
    const blob = await blobOf(figure, button.dataset.as);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    const name = figure.dataset.name.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
    link.download = `${name}.${button.dataset.as}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });

  for (const hidden of document.querySelectorAll(".save[hidden]")) hidden.hidden = false;
})();
