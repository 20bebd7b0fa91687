import { allContainers, type Container, type Manifest, nameOf, ofKind, type PodSpec, workloads } from "../manifest.ts";

const ALLOWED_VOLUMES = [
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "persistentVolumeClaim",
  "projected",
  "secret",
];

/** The end of an image's name: a tag other than `latest`, or a digest. */
const FIXED_VERSION = /:(?!latest$)[^:/]+$/;

/**
 * Reports violations of the Pod Security Standard "restricted" and of Parley's own rules: a read-only root file system, no service account
 * token without a Role, no service links, no sysctls, no SELinux options, CPU and memory requests, a memory limit, and an image with a digest
 * or a tag other than `latest`.
 */
export function podSecurityProblems(manifests: readonly Manifest[]): string[] {
  const accountsWithRole = new Set(
    ofKind(manifests, "RoleBinding").flatMap(({ subjects }) =>
      (subjects as { name: string }[]).map(({ name }) => name),
    ),
  );
  return workloads(manifests).flatMap(({ manifest, pod }) =>
    [
      ...podProblems(pod),
      ...(pod.automountServiceAccountToken && !accountsWithRole.has(pod.serviceAccountName ?? "")
        ? ["mounts a token of the cluster's API without a Role"]
        : []),
      ...allContainers(pod).flatMap((container) => containerProblems(container, pod)),
    ].map((problem) => `${nameOf(manifest)}: ${problem}`),
  );
}

function podProblems(pod: PodSpec): string[] {
  const volumes = (pod.volumes ?? []).flatMap(({ name, ...source }) =>
    Object.keys(source)
      .filter((kind) => !ALLOWED_VOLUMES.includes(kind))
      .map((kind) => `the volume ${name} is a ${kind}`),
  );
  return [
    ...(pod.hostNetwork || pod.hostPID || pod.hostIPC ? ["shares a namespace with its node"] : []),
    ...(pod.securityContext?.seccompProfile?.type === "RuntimeDefault"
      ? []
      : ["does not use the seccomp profile RuntimeDefault"]),
    ...(pod.automountServiceAccountToken === undefined ? ["may mount a token of the cluster's API"] : []),
    ...(pod.enableServiceLinks === false ? [] : ["gets environment variables with the address of every Service"]),
    ...(pod.securityContext?.sysctls ? ["sets sysctls"] : []),
    ...(pod.securityContext?.seLinuxOptions ? ["sets SELinux options"] : []),
    ...volumes,
  ];
}

function containerProblems(container: Container, pod: PodSpec): string[] {
  const { name, securityContext: own = {}, resources, image, ports = [] } = container;
  const nonRoot = own.runAsNonRoot ?? pod.securityContext?.runAsNonRoot;
  const user = own.runAsUser ?? pod.securityContext?.runAsUser;
  const { add = [], drop = [] } = own.capabilities ?? {};
  return [
    ...(own.privileged ? ["is privileged"] : []),
    ...(own.allowPrivilegeEscalation === false ? [] : ["may gain privileges"]),
    ...(nonRoot === true && user !== 0 ? [] : ["may run as root"]),
    ...(drop.includes("ALL") && add.every((capability) => capability === "NET_BIND_SERVICE")
      ? []
      : ["keeps capabilities"]),
    ...(own.readOnlyRootFilesystem === true ? [] : ["can write to its root file system"]),
    ...((own.seccompProfile?.type ?? "RuntimeDefault") === "RuntimeDefault"
      ? []
      : ["has a seccomp profile other than RuntimeDefault"]),
    ...((own.procMount ?? "Default") === "Default" ? [] : ["has unmasked files in /proc"]),
    ...(own.seLinuxOptions ? ["sets SELinux options"] : []),
    ...(ports.some(({ hostPort }) => hostPort) ? ["uses a port of its node"] : []),
    ...(resources?.requests?.cpu ? [] : ["has no CPU request"]),
    ...(resources?.requests?.memory ? [] : ["has no memory request"]),
    ...(resources?.limits?.memory ? [] : ["has no memory limit"]),
    ...(FIXED_VERSION.test(image) ? [] : ["uses an image without a tag or with the tag latest"]),
  ].map((problem) => `${name} ${problem}`);
}
