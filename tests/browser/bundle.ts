import { build } from "esbuild";

/**
 * Bundles a small application as a customer's build does, and returns the script. `files` maps names to contents. The first file is the entry
 * point.
 */
export async function bundleApp(files: Readonly<Record<string, string>>): Promise<string> {
  const [entry = ""] = Object.keys(files);
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: "iife",
    jsx: "automatic",
    // Development builds of frameworks have the strictest checks.
    define: {
      "process.env.NODE_ENV": '"development"',
      __VUE_OPTIONS_API__: "true",
      __VUE_PROD_DEVTOOLS__: "false",
      __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: "false",
    },
    plugins: [
      {
        name: "files",
        setup(bundler) {
          const names = Object.keys(files).map((name) => name.replace(".", "\\."));
          bundler.onResolve({ filter: new RegExp(`^(\\./)?(${names.join("|")})$`) }, ({ path }) => ({
            path: path.replace("./", ""),
            namespace: "files",
          }));
          bundler.onLoad({ filter: /./, namespace: "files" }, ({ path }) => ({
            contents: files[path] ?? "",
            loader: "jsx",
            resolveDir: import.meta.dirname,
          }));
        },
      },
    ],
  });
  return outputFiles[0]?.text ?? "";
}
