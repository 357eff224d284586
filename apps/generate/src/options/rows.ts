import { type CliRow, cliRows } from "@vd/svd-pipeline/options";
import { GROUPS } from "./tables";

/** Every option of the command line, in the order of its help. */
export const ROWS: readonly CliRow[] = GROUPS.flatMap(({ table }) => cliRows(table));

/** The rows that config files may hold, by their keys there. */
export const FILE_ROWS: ReadonlyMap<string, CliRow> = new Map(
  ROWS.filter(({ form }) => form.inFile !== false).map((row) => [row.key, row]),
);

/** The row that sets an option of the library, by the option's name. */
export const ROW_OF_OPTION: ReadonlyMap<string, CliRow> = new Map(
  ROWS.flatMap((row) => row.options.map((name) => [name, row] as const)),
);
