"""Makes the picture of the explorer in the README and the docs: California housing in headless Chromium."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import kdi

IMAGE = Path(__file__).resolve().parents[1] / "docs" / "images" / "explorer.png"
BROWSERS = ["chromium", "chromium-browser", "google-chrome"]


def main() -> None:
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise SystemExit(f"this needs one of {', '.join(BROWSERS)} on the PATH.")
    with tempfile.TemporaryDirectory() as folder:
        page = kdi.explore(kdi.data.california_housing(), title="California housing").save(Path(folder) / "page.html")
        options = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--disable-background-networking",
        ]
        profile = f"--user-data-dir={folder}/profile"
        shot = [f"--screenshot={IMAGE}", "--window-size=1240,1060", "--virtual-time-budget=5000"]
        subprocess.run([browser, *options, profile, *shot, Path(page).as_uri()], check=True, capture_output=True)
    print(f"{IMAGE} ({IMAGE.stat().st_size / 1e3:.0f} kB)")


if __name__ == "__main__":
    main()
