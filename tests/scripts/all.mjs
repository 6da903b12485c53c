// All tests of the scripts that need no browser, in one process: `node tests/scripts/all.mjs` (tests/test_browser_scripts.py starts it).
import "./labels.mjs";
import "./lanes.mjs";
import "./outbox.mjs";
import "./state.mjs";
import "./texts.mjs";
