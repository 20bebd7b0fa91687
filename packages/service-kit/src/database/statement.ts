import type { QueryConfig } from "pg";

/** Matches `:name`, but neither a cast such as `::text` nor a time format such as `HH24:MI`. */
const PARAMETER = /(?<![:\w]):([a-z]\w*)/gi;

/**
 * Prepares a statement with named parameters, such as `:turnId`. Returns a function that adds the values; it throws if the values lack a
 * parameter. The names are replaced once, here, so a query costs no more than one with `$1`. `name` is the prepared statement's name.
 */
export function defineStatement<V extends object>(name: string, sql: string): (values: V) => QueryConfig {
  const parameters: string[] = [];
  const text = sql.replaceAll(PARAMETER, (_, parameter: string) => {
    if (!parameters.includes(parameter)) parameters.push(parameter);
    return `$${parameters.indexOf(parameter) + 1}`;
  });
  const readValue = (values: V, parameter: string) => {
    if (!(parameter in values)) throw new Error(`${name}: the parameter ${parameter} has no value`);
    return values[parameter as keyof V];
  };
  return (values) => ({ name, text, values: parameters.map((parameter) => readValue(values, parameter)) });
}
