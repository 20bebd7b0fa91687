import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { cacheFolder } from "./cache.ts";
import { ROOT, run } from "./commands.ts";

/** The folder whose go.mod pins the versions of the modules in FILES. */
const GO_MODULE = "tests/cluster/node/crds";

/** The files with the CustomResourceDefinitions of the kinds that the chart may render. */
const FILES: [module: string, path: string][] = [
  ["sigs.k8s.io/gateway-api", "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml"],
  ["github.com/cert-manager/cert-manager", "deploy/crds/cert-manager.io_certificates.yaml"],
  ["github.com/kedacore/keda/v2", "config/crd/bases/keda.sh_scaledobjects.yaml"],
  [
    "github.com/prometheus-operator/prometheus-operator",
    "example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml",
  ],
  [
    "github.com/prometheus-operator/prometheus-operator",
    "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
  ],
];

/** Returns the folder with the CustomResourceDefinitions. Downloads them with Go if they are not cached. */
export async function ensureCrds(): Promise<string> {
  return cacheFolder("crds", [GO_MODULE, "tests/cluster/crds.ts"], async (folder) => {
    for (const [module, path] of FILES) {
      const options = { cwd: join(ROOT, GO_MODULE), timeoutMs: 300_000 };
      const { Dir } = JSON.parse(await run("go", ["mod", "download", "-json", module], options)) as { Dir: string };
      await copyFile(join(Dir, path), join(folder, path.split("/").at(-1) ?? ""));
    }
  });
}
