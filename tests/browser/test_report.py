"""The page in a real Chromium: charts are drawn, the slider moves, nothing is asked of the network."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from committee.report import write_report
from tests.unit.report.pages import (
    booster,
    forest,
    glass_comparison,
    ozone_comparison,
    regression_forest,
    sample,
)

pytest.importorskip("vl_convert")
webdriver = pytest.importorskip("selenium.webdriver")

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason="there is no Chromium here")

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip
WIDTHS = (360, 1200)
MEASURE = """return [...document.querySelectorAll('.chart')].map(e => [
    e.id, e.querySelectorAll('svg path, svg rect').length, e.getBoundingClientRect().width,
    e.querySelector('svg') ? e.querySelector('svg').getBoundingClientRect().width : 0,
    (e.getAttribute('aria-label') || '').length, e.getBoundingClientRect().height])"""
DRAWN = "return document.documentElement.dataset.drawn === 'yes'"


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = str(CHROMIUM)
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    result = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
    yield result
    result.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    sonar, glass, ozone = sample("sonar"), sample("glass"), sample("ozone")
    return {
        "booster": write_report(folder / "a.html", booster(), sonar.X, sonar.y),
        "compared": write_report(folder / "b.html", forest(), glass.X, glass.y, comparison=glass_comparison()),
        "regression": write_report(
            folder / "c.html", regression_forest(), ozone.X, ozone.y, comparison=ozone_comparison()
        ),
    }


def show(driver: Any, page: Path, width: int, scheme: str = "light") -> None:
    """Open the page on a screen of this width and wait until it is drawn."""
    from selenium.webdriver.support.ui import WebDriverWait

    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    driver.get_log("browser")
    driver.get_log("performance")
    driver.get(page.as_uri())
    WebDriverWait(driver, 120).until(lambda one: one.execute_script(DRAWN))


def requests(driver: Any) -> list[str]:
    """Addresses asked for since the page was opened."""
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["booster", "compared", "regression"])
def test_charts_are_drawn_without_noise_or_network(driver: Any, pages: dict[str, Path], name: str, width: int) -> None:
    show(driver, pages[name], width)
    charts = driver.execute_script(MEASURE)
    assert len(charts) >= 5
    for key, n_marks, room, drawn, alt, height in charts:
        assert n_marks > 1, key
        assert 0.75 * room < drawn <= room + 1, (key, room, drawn)
        assert alt > 20, key
        assert 60 < height < 700, (key, height)
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    assert [entry["message"] for entry in driver.get_log("browser")] == []
    assert [url for url in requests(driver) if not url.startswith(("file:", "data:"))] == []
    assert driver.execute_script("return performance.getEntriesByType('resource').map(e => e.name)") == []


def test_the_slider_moves_the_margins(driver: Any, pages: dict[str, Path]) -> None:
    show(driver, pages["booster"], 1200)
    place = "document.getElementById('chart-margins')"
    lines = f"return [...{place}.querySelectorAll('svg path')].map(e => e.getAttribute('d')).join()"
    texts = f"return [...{place}.querySelectorAll('svg text')].map(e => e.textContent)"
    last, labels = driver.execute_script(lines), driver.execute_script(texts)
    assert "round 25" in labels
    driver.execute_script(
        f"const input = {place}.querySelector('input[type=range]'); input.value = 2;"
        "input.dispatchEvent(new Event('input', {bubbles: true}));"
    )
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(driver, 20).until(lambda one: "round 2" in one.execute_script(texts))
    assert driver.execute_script(lines) != last
    smallest = min(list(booster().staged_margins(sample("sonar").X, sample("sonar").y))[1])
    shown = next(text for text in driver.execute_script(texts) if text.startswith("minimum margin"))
    assert float(shown.split()[-1].replace("\u2212", "-")) == pytest.approx(smallest, abs=6e-4)
    assert driver.execute_script(f"return {place}.querySelector('input').getAttribute('aria-label')") == "round"


def test_page_and_charts_turn_dark_together(driver: Any, pages: dict[str, Path]) -> None:
    colors = (
        "const chart = document.querySelector('#chart-comparison svg');"
        "const text = getComputedStyle(chart.querySelector('text')).fill;"
        "return [getComputedStyle(document.body).backgroundColor, text, getComputedStyle(document.body).color]"
    )
    show(driver, pages["compared"], 1200, "light")
    light = [brightness(color) for color in driver.execute_script(colors)]
    show(driver, pages["compared"], 1200, "dark")
    dark = [brightness(color) for color in driver.execute_script(colors)]
    assert light[0] > 200 > 130 > max(light[1:])
    assert dark[0] < 60 < 130 < min(dark[1:])


def brightness(color: str) -> float:
    """Mean of red, green and blue of "rgb(1, 2, 3)"."""
    parts = color[color.index("(") + 1 : color.index(")")].split(",")[:3]
    return sum(float(part) for part in parts) / 3.0


def test_text_has_contrast_enough(driver: Any, pages: dict[str, Path]) -> None:
    """At least 4.5 to 1, as WCAG asks of small text, of all kinds of text in both schemes."""
    script = (
        "const out = []; for (const name of ['--ink', '--soft', '--blue', '--good', '--fair', '--bad'])"
        "for (const on of ['--card', '--paper', '--tint']) {"
        "const style = getComputedStyle(document.documentElement);"
        "out.push([name, on, style.getPropertyValue(name), style.getPropertyValue(on)]); } return out"
    )
    for scheme in ("light", "dark"):
        show(driver, pages["compared"], 1200, scheme)
        for name, on, front, back in driver.execute_script(script):
            assert contrast(front, back) >= 4.5, (scheme, name, on)


def contrast(front: str, back: str) -> float:
    bright, dim = sorted((luminance(front), luminance(back)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def luminance(color: str) -> float:
    """Relative luminance of "#rrggbb" (WCAG 2.2)."""
    parts = [int(color.strip()[i : i + 2], 16) / 255.0 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_it_prints_on_a_few_pages(driver: Any, pages: dict[str, Path]) -> None:
    show(driver, pages["compared"], 1200)
    result = driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True, "preferCSSPageSize": True})
    document = base64.b64decode(result["data"])
    assert document.startswith(b"%PDF")
    assert 3 <= document.count(b"/Type /Page\n") <= 14
