import { readFileSync } from "node:fs";
import ts from "typescript";

/** A place in a file. */
export interface Finding {
  /** From 1. */
  line: number;
  text: string;
}

/** One specifier of an import, an export from, `import("…")` or `require("…")`. */
export interface Import extends Finding {
  /** Nothing of it is left at run time: `import type`, `export type`, types of `import("…")`. */
  typeOnly: boolean;
}

/** What the rules must know of one file. */
export interface SourceFacts {
  imports: readonly Import[];
  /** Names of environment variables that are read; `*` for `process.env` as a whole. */
  environment: readonly Finding[];
}

const isEnvironment = (node: ts.Node): boolean =>
  ts.isPropertyAccessExpression(node) && node.name.text === "env" && node.expression.getText() === "process";

function importedSpecifier(node: ts.Node): string | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) {
    const from = node.moduleSpecifier;
    return from && ts.isStringLiteral(from) ? from.text : undefined;
  }
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument) && ts.isStringLiteral(node.argument.literal))
    return node.argument.literal.text;
  if (!ts.isCallExpression(node)) return undefined;
  const loads = node.expression.kind === ts.SyntaxKind.ImportKeyword || node.expression.getText() === "require";
  const [argument] = node.arguments;
  return loads && argument && ts.isStringLiteral(argument) ? argument.text : undefined;
}

function isTypeOnly(node: ts.Node): boolean {
  if (ts.isImportDeclaration(node)) return node.importClause?.isTypeOnly ?? false;
  return ts.isImportTypeNode(node) || (ts.isExportDeclaration(node) && node.isTypeOnly);
}

function variableRead(node: ts.Node): string | undefined {
  if (ts.isImportDeclaration(node) && /^(node:)?process$/.test((node.moduleSpecifier as ts.StringLiteral).text)) {
    const names = node.importClause?.namedBindings;
    const takesEnv =
      names && ts.isNamedImports(names) && names.elements.some((e) => (e.propertyName ?? e.name).text === "env");
    return takesEnv ? "*" : undefined;
  }
  if (!isEnvironment(node)) return undefined;
  const { parent } = node;
  if (ts.isPropertyAccessExpression(parent) && parent.expression === node) return parent.name.text;
  if (ts.isElementAccessExpression(parent) && ts.isStringLiteral(parent.argumentExpression))
    return parent.argumentExpression.text;
  return "*";
}

/** Reads a TypeScript or JavaScript file and finds what the rules look at; comments and strings are not code. */
export function readSource(path: string, text = readFileSync(path, "utf8")): SourceFacts {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const imports: Import[] = [];
  const environment: Finding[] = [];
  const visit = (node: ts.Node): void => {
    const line = () => file.getLineAndCharacterOfPosition(node.getStart()).line + 1;
    const specifier = importedSpecifier(node);
    if (specifier !== undefined) imports.push({ line: line(), text: specifier, typeOnly: isTypeOnly(node) });
    const variable = variableRead(node);
    if (variable !== undefined) environment.push({ line: line(), text: variable });
    ts.forEachChild(node, visit);
  };
  visit(file);
  return { imports, environment };
}
