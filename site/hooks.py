"""Points links that leave docs/ to the repository, where GitHub shows those files, and keeps the site free of other servers."""

import base64
import gzip
import os
import pathlib
import posixpath
import re
import shutil

REPOSITORY = "https://github.com/clustergym/clustergym"
LOADED = re.compile(r"""<(?:script|img|iframe|link rel="?(?:stylesheet|preconnect))[^>]*(?:src|href)="?(https?://[^"\s>]+)""")
LINK = re.compile(r"\]\((?!https?://|#|mailto:)([^)\s#]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown, page, config, files):
    here = posixpath.dirname(page.file.src_uri)

    def outside(match):
        path, anchor = posixpath.normpath(posixpath.join("docs", here, match[1])), match[2] or ""
        if path.startswith("docs/") and files.get_file_from_path(path.removeprefix("docs/")):
            return match[0]
        if path == "README.md":
            path = ""
        kind = "blob" if "." in posixpath.basename(path) else "tree"
        return f"]({REPOSITORY}/{kind}/main/{path}{anchor})"

    return LINK.sub(outside, markdown)


SHIM = "https://unpkg.com/iframe-worker/shim"


def simulator(root):
    """Puts the simulator that make site has built beside the script of its page: packed, and as text within a script, because a page
    that was opened from a file may not fetch other files."""
    built = pathlib.Path(os.environ["SITE_SIMULATOR"])
    packed = base64.b64encode(gzip.compress((built / "simulator.wasm").read_bytes(), mtime=0)).decode()
    (root / "simulator/program.js").write_text(f'window.clustergymProgram = "{packed}";\n', "utf-8")
    shutil.copy(built / "wasm_exec.js", root / "simulator/wasm_exec.js")


def on_post_build(config):
    """Takes the script of the search without a server from an npm package instead of from another server, lets the keyboard scroll
    code, and fails if a page would load something from elsewhere."""
    root = pathlib.Path(config.site_dir)
    shim = pathlib.Path(os.environ["SITE_NODE"]) / "iframe-worker/shim/index.js"
    (root / "assets/javascripts/iframe-worker.js").write_bytes(shim.read_bytes())
    simulator(root)
    for path in root.rglob("*.html"):
        name = path.relative_to(root)
        text = path.read_text("utf-8").replace(SHIM, "../" * (len(name.parts) - 1) + "assets/javascripts/iframe-worker.js")
        path.write_text(text.replace("<pre>", '<pre tabindex="0">'), "utf-8")
        if loaded := LOADED.findall(text):
            raise SystemExit(f"{name} loads {', '.join(loaded)}")
