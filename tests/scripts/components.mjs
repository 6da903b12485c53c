// The scripts under test, and what Python's side makes of the same values (standard input, see tests/test_browser_scripts.py).
import { readFileSync } from "node:fs";

export const COMPONENTS = new URL("../../pages/_ui/components/", import.meta.url);
export const annotator = (name) => import(new URL(`span_annotator/${name}`, COMPONENTS));
export const expected = JSON.parse(readFileSync(0, "utf-8"));
