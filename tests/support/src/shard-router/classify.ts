import type { A_Expr, BoolExpr, InsertStmt, Node, RangeVar } from "libpg-query";

// The rules of this file are those of PgDog 0.1.52 with the parser that is its default since 0.1.53, for a key column in tables of any name.
// verdicts.json has what PgDog did with Parley's statements.

/** The column that determines the shard, in every table that has it. */
const KEY_COLUMN = "workspace_id";
/** Tables of a few rows that belong to no workspace. Every shard has a copy. */
export const TABLES_WITHOUT_KEY = [
  "quota.plans",
  "quota.months",
  "conversation.edges",
  "conversation.task_leases",
  "conversation.closed_months",
];
/** All other tables of the services' schemas have the key, except those of the migrations. */
const hasKey = (table: string) =>
  /^(conversation|quota|llm)\.(?!migrations)/.test(table) && !TABLES_WITHOUT_KEY.includes(table);

/** Where a statement has a key: in the parameter `$n`, or as a literal. */
export type Key = { parameter: number } | { literal: string };

export type Verdict =
  /** The statement concerns the shard of these keys. */
  | { route: "keys"; keys: Key[] }
  /** A comment names the shard. */
  | { route: "shard"; shard: number }
  /** The statement reads no table with the key, so PgDog runs it on an arbitrary shard. */
  | { route: "any" }
  | { route: "set" }
  | { route: "transaction"; command: "begin" | "commit" | "rollback" }
  /** PgDog refuses the statement in strict mode (cross_shard_disabled). */
  | { route: "refused"; reason: string };

/** The result of the search for a key. "every shard": the key has values that PgDog does not read. */
type Found = Key[] | "every shard" | undefined;

const COMMENT = /\/\*\s*pgdog_shard:\s*(\d+)\s*\*\//;

/** Loads the parser. Returns a pure function from a statement's text to its verdict. It throws an error for invalid SQL. */
export async function loadClassifier(): Promise<(sql: string) => Verdict> {
  // Not a static import, because the module compiles its WebAssembly when it is loaded, and most tests do not need it.
  const { loadModule, parseSync } = await import("libpg-query");
  await loadModule();
  const verdicts = new Map<string, Verdict>();
  return (sql) => {
    const known = verdicts.get(sql);
    if (known !== undefined) return known;
    const statements = (parseSync(sql).stmts ?? []).flatMap(({ stmt }) => stmt ?? []);
    const verdict = classify(statements, COMMENT.exec(sql)?.[1]);
    verdicts.set(sql, verdict);
    return verdict;
  };
}

function classify(statements: readonly Node[], shard: string | undefined): Verdict {
  const [statement] = statements;
  // PgDog would use the first statement's key for all of them.
  if (statement === undefined || statements.length > 1) return refused(`${statements.length} statements in one query`);
  if (shard !== undefined) return { route: "shard", shard: Number(shard) };
  if ("VariableSetStmt" in statement) return { route: "set" };
  if ("TransactionStmt" in statement) return classifyTransaction(statement.TransactionStmt.kind);
  const isRouted = ["SelectStmt", "InsertStmt", "UpdateStmt", "DeleteStmt"].some((type) => type in statement);
  if (!isRouted) return refused("only SELECT, INSERT, UPDATE and DELETE can have a key");
  const found = "InsertStmt" in statement ? findInsertedKey(statement.InsertStmt) : findKeys(statement);
  if (found === "every shard") return refused(`${KEY_COLUMN} has values that the router does not read`);
  if (found !== undefined) return { route: "keys", keys: found };
  if (!("SelectStmt" in statement)) return refused(`no ${KEY_COLUMN}`);
  // The parts of UNION, INTERSECT and EXCEPT have their own FROM.
  if (statement.SelectStmt.fromClause === undefined) return { route: "any" };
  const table = findTables(statement).find(hasKey);
  return table === undefined ? { route: "any" } : refused(`${table} without ${KEY_COLUMN}`);
}

const refused = (reason: string): Verdict => ({ route: "refused", reason });

function classifyTransaction(kind: string | undefined): Verdict {
  switch (kind) {
    case "TRANS_STMT_BEGIN":
    case "TRANS_STMT_START":
      return { route: "transaction", command: "begin" };
    case "TRANS_STMT_COMMIT":
      return { route: "transaction", command: "commit" };
    case "TRANS_STMT_ROLLBACK":
      return { route: "transaction", command: "rollback" };
    default:
      return refused("a savepoint or a prepared transaction");
  }
}

/** Searches all parts of a statement for the first comparison with the key. Leaves out the operands of OR and NOT. */
function findKeys(tree: unknown): Found {
  for (const [type, node] of entriesOf(tree)) {
    if (type === "BoolExpr" && (node as BoolExpr).boolop !== "AND_EXPR") continue;
    const found = type === "A_Expr" ? readComparison(node as A_Expr) : findKeys(node);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The inserted key counts, and otherwise a key of the queries that the statement contains. */
function findInsertedKey({ cols = [], selectStmt, withClause }: InsertStmt): Found {
  const { valuesLists = [], targetList = [] } = selectStmt && "SelectStmt" in selectStmt ? selectStmt.SelectStmt : {};
  if (valuesLists.length > 1) return "every shard";
  const position = cols.findIndex((column) => "ResTarget" in column && column.ResTarget.name === KEY_COLUMN);
  const [row] = valuesLists;
  const values =
    row && "List" in row ? row.List.items : targetList.map((each) => "ResTarget" in each && each.ResTarget.val);
  const key = readKey(values?.[position]);
  return key === undefined ? findKeysOfQueries([withClause, selectStmt]) : [key];
}

function findKeysOfQueries(tree: unknown): Found {
  for (const [type, node] of entriesOf(tree)) {
    const found = type === "SelectStmt" ? findKeys(node) : findKeysOfQueries(node);
    if (found !== undefined) return found;
  }
  return undefined;
}

const COMPARISONS = ["AEXPR_OP", "AEXPR_IN", "AEXPR_OP_ANY", "AEXPR_NOT_DISTINCT"];

/** Reads a key from `=`, IN, `= ANY` or IS NOT DISTINCT FROM. */
function readComparison({ kind, name = [], lexpr, rexpr }: A_Expr): Found {
  const isEquality = name.some((part) => "String" in part && part.String.sval === "=");
  if (!isEquality || kind === undefined || !COMPARISONS.includes(kind)) return undefined;
  const operands = [readOperand(lexpr), readOperand(rexpr)];
  for (const operand of operands) if (operand?.kind === "query") return operand.found;
  const [left, right] = operands;
  const [column, values] = left?.kind === "column" ? [left, right] : [right, left];
  if (column?.kind !== "column" || column.name !== KEY_COLUMN || values?.kind !== "values") return undefined;
  // PgDog does not read arrays.
  if (kind === "AEXPR_OP_ANY") return "every shard";
  return values.keys.length > 0 ? values.keys : undefined;
}

type Operand =
  | { kind: "column"; name: string }
  | { kind: "values"; keys: Key[] }
  /** A subquery that contains a key. */
  | { kind: "query"; found: Found }
  | undefined;

/** Returns the first column, value or subquery of an operand. PgDog does not look into function calls. */
function readOperand(tree: unknown): Operand {
  for (const [type, node] of entriesOf(tree)) {
    const operand = readOperandNode(type, node);
    if (operand !== undefined) return operand;
  }
  return undefined;
}

function readOperandNode(type: string, node: unknown): Operand {
  switch (type) {
    case "ColumnRef": {
      const name = (node as { fields?: Node[] }).fields?.at(-1);
      return name && "String" in name ? { kind: "column", name: name.String.sval ?? "" } : undefined;
    }
    case "A_Const":
    case "ParamRef":
      return { kind: "values", keys: [readKey({ [type]: node })].filter((key) => key !== undefined) };
    case "List":
      return {
        kind: "values",
        keys: ((node as { items?: Node[] }).items ?? []).flatMap((item) => readKey(item) ?? []),
      };
    case "SelectStmt": {
      const found = findKeys(node);
      return found && { kind: "query", found };
    }
    case "FuncCall":
      return undefined;
    default:
      return readOperand(node);
  }
}

/** Returns the key that a parameter or a literal is; undefined for any other expression. */
function readKey(node: unknown): Key | undefined {
  const [[type, content] = []] = entriesOf(node);
  switch (type) {
    case "ParamRef":
      return { parameter: (content as { number?: number }).number ?? 0 };
    case "TypeCast":
      return readKey((content as { arg?: Node }).arg);
    case "A_Const": {
      const { sval } = content as { sval?: { sval?: string } };
      return sval && { literal: sval.sval ?? "" };
    }
    default:
      return undefined;
  }
}

/** Returns the qualified names of the tables that a query uses. PgDog does not look into function calls. */
function findTables(tree: unknown): string[] {
  return entriesOf(tree).flatMap(([type, node]) => {
    if (type === "FuncCall") return [];
    if (type !== "RangeVar" && type !== "relation") return findTables(node);
    const { schemaname, relname } = node as RangeVar;
    return [[schemaname, relname].filter((part) => part !== undefined).join(".")];
  });
}

/** Returns the properties of a node of the syntax tree. A property is named after its type, such as `A_Expr`, or after its role. */
function entriesOf(tree: unknown): [name: string, value: unknown][] {
  return typeof tree === "object" && tree !== null ? Object.entries(tree) : [];
}
