/**
 * The pages of the site. Each is a file of the repository at an address of the site. The order is the
 * order of the sidebar.
 */

/** A section of the site, after the kinds of documentation of diataxis.fr. */
export interface Section {
  readonly title: string;
  readonly pages: readonly Page[];
}

export interface Page {
  /** The address below the root of the site, without a suffix. */
  readonly address: string;
  /** The title in the sidebar. */
  readonly title: string;
  /** The file, from the root of the repository. */
  readonly file: string;
}

export const SECTIONS: readonly Section[] = [
  {
    title: "Tutorials",
    pages: [
      {
        address: "tutorials/first-world",
        title: "Your first world in ten steps",
        file: "docs/tutorials/first-world.md",
      },
      {
        address: "tutorials/world-in-typescript",
        title: "A world in TypeScript",
        file: "docs/tutorials/world-in-typescript.md",
      },
      { address: "tutorials/first-page", title: "Your first page", file: "docs/tutorials/first-page.md" },
      {
        address: "tutorials/first-channel",
        title: "Your first channel",
        file: "docs/tutorials/first-channel.md",
      },
    ],
  },
  {
    title: "Make worlds",
    pages: [
      { address: "how-to/rules", title: "Rules and reload", file: "docs/how-to/rules.md" },
      { address: "how-to/bodies", title: "Bodies and movement", file: "docs/how-to/bodies.md" },
      { address: "how-to/pages", title: "Actions and pages", file: "docs/how-to/pages.md" },
      { address: "how-to/players", title: "Players and saved data", file: "docs/how-to/players.md" },
      { address: "how-to/interest", title: "Interest and limits", file: "docs/how-to/interest.md" },
      { address: "how-to/recipes", title: "Recipes", file: "docs/how-to/recipes.md" },
      { address: "how-to/headsets", title: "Headsets and voices", file: "docs/how-to/headsets.md" },
      { address: "how-to/studio", title: "The studio", file: "docs/how-to/studio.md" },
      {
        address: "how-to/assistants",
        title: "Let an assistant work on a world",
        file: "docs/how-to/assistants.md",
      },
      {
        address: "how-to/world-script",
        title: "Compile worlds in TypeScript",
        file: "packages/world-script/README.md",
      },
    ],
  },
  {
    title: "Run servers",
    pages: [
      { address: "how-to/install", title: "Install Nowcast", file: "docs/how-to/install.md" },
      { address: "how-to/server", title: "Run a server", file: "docs/how-to/server.md" },
      { address: "how-to/deploy", title: "Deploy in public", file: "docs/how-to/deploy.md" },
      { address: "how-to/stored-worlds", title: "Stored worlds", file: "docs/how-to/stored-worlds.md" },
      { address: "how-to/cluster", title: "Run a cluster", file: "docs/how-to/cluster.md" },
      { address: "how-to/back-end", title: "Use my back end", file: "docs/how-to/back-end.md" },
      {
        address: "how-to/back-end-postgresql",
        title: "A back end with PostgreSQL",
        file: "examples/back-end/README.md",
      },
      { address: "how-to/troubleshooting", title: "Troubleshooting", file: "docs/how-to/troubleshooting.md" },
    ],
  },
  {
    title: "Write clients",
    pages: [
      { address: "how-to/sdk", title: "Use the TypeScript SDK", file: "docs/how-to/sdk.md" },
      { address: "how-to/three", title: "Draw with three.js", file: "docs/how-to/three.md" },
      { address: "how-to/page-parts", title: "Build a page of parts", file: "docs/how-to/page-parts.md" },
      { address: "how-to/react", title: "Use React", file: "docs/how-to/react.md" },
      { address: "how-to/page", title: "Build a page with Vite", file: "examples/page/README.md" },
      { address: "how-to/react-display", title: "A display in React", file: "examples/react/README.md" },
      { address: "how-to/bot", title: "Write a bot", file: "examples/bot/README.md" },
      { address: "how-to/rust", title: "Use Rust", file: "docs/how-to/rust.md" },
      { address: "how-to/local", title: "Connect local programs", file: "examples/local/README.md" },
      { address: "how-to/python", title: "Use Python", file: "docs/how-to/python.md" },
      { address: "how-to/c-and-cpp", title: "Use C and C++", file: "docs/how-to/c-and-cpp.md" },
      { address: "how-to/client", title: "Write a client", file: "examples/minimal/README.md" },
      { address: "how-to/migrate", title: "Migrate to Nowcast", file: "docs/how-to/migrate.md" },
      { address: "how-to/wireshark", title: "Read sessions in Wireshark", file: "docs/how-to/wireshark.md" },
    ],
  },
  {
    title: "Concepts",
    pages: [
      { address: "concepts/worlds", title: "Worlds and rooms", file: "docs/concepts/worlds.md" },
      {
        address: "concepts/updatable-queue",
        title: "The updatable queue",
        file: "docs/concepts/updatable-queue.md",
      },
      { address: "lab", title: "Playable lab", file: "docs/concepts/lab.md" },
      { address: "concepts/age", title: "Age", file: "docs/concepts/age.md" },
      { address: "concepts/prediction", title: "Prediction", file: "docs/concepts/prediction.md" },
      { address: "concepts/durability", title: "Durability", file: "docs/concepts/durability.md" },
      {
        address: "concepts/which-protocol",
        title: "Which protocol do I need?",
        file: "docs/concepts/which-protocol.md",
      },
      { address: "concepts/architecture", title: "Architecture", file: "ARCHITECTURE.md" },
    ],
  },
  {
    title: "Reference",
    pages: [
      { address: "reference/world-luau", title: "Worlds in Luau", file: "docs/reference/world-luau.md" },
      {
        address: "reference/world-typescript",
        title: "Worlds in TypeScript",
        file: "packages/world-script/types/api.d.ts",
      },
      { address: "reference/sdk", title: "TypeScript SDK", file: "docs/reference/sdk.md" },
      { address: "reference/cli", title: "Commands", file: "docs/reference/cli.md" },
      { address: "reference/limits", title: "Limits", file: "docs/reference/limits.md" },
      { address: "reference/costs", title: "Costs of calls in Luau", file: "docs/reference/costs.md" },
      { address: "reference/errors", title: "Errors", file: "docs/reference/errors.md" },
      { address: "reference/metrics", title: "Metrics", file: "docs/reference/metrics.md" },
      { address: "reference/studio", title: "Studio interface", file: "docs/reference/studio.md" },
      { address: "reference/store", title: "The store", file: "docs/reference/store.md" },
      { address: "reference/cluster", title: "Clusters", file: "docs/reference/cluster.md" },
      { address: "reference/glossary", title: "Glossary", file: "docs/reference/glossary.md" },
      { address: "reference/changelog", title: "Changelog", file: "CHANGELOG.md" },
    ],
  },
  {
    title: "Specification",
    pages: [
      { address: "spec/queue", title: "The updatable queue", file: "spec/QUEUE.md" },
      { address: "spec/session", title: "Sessions", file: "spec/SESSION.md" },
      { address: "spec/carriers", title: "Carriers", file: "spec/CARRIERS.md" },
      { address: "spec/world", title: "Worlds on sessions", file: "spec/WORLD.md" },
      { address: "spec/plain", title: "The plain protocol", file: "spec/PLAIN.md" },
      { address: "spec/wire", title: "Wire format", file: "spec/WIRE.md" },
      { address: "spec/delta", title: "Deltas of frames", file: "spec/DELTA.md" },
      { address: "spec/movement", title: "Movement of walkers", file: "spec/MOVEMENT.md" },
      { address: "spec/motion", title: "Motion of bodies", file: "spec/MOTION.md" },
      { address: "spec/store", title: "Store", file: "spec/STORE.md" },
      { address: "spec/cluster", title: "Cluster", file: "spec/CLUSTER.md" },
      { address: "spec/minimal", title: "A minimal client", file: "spec/MINIMAL.md" },
      { address: "spec/transcript", title: "An annotated transcript", file: "spec/TRANSCRIPT.md" },
    ],
  },
  {
    title: "Measurements",
    pages: [
      { address: "measurements/index", title: "Results", file: "docs/reference/measurements/README.md" },
      {
        address: "measurements/changing",
        title: "Links that change",
        file: "docs/reference/measurements/changing.md",
      },
      { address: "measurements/load", title: "Cost of clients", file: "docs/reference/measurements/load.md" },
      {
        address: "measurements/cluster",
        title: "Faults of clusters",
        file: "docs/reference/measurements/cluster.md",
      },
      { address: "measurements/checks", title: "Long checks", file: "docs/reference/measurements/checks.md" },
      {
        address: "measurements/scale",
        title: "A plan for a million people",
        file: "docs/reference/measurements/scale.md",
      },
      { address: "measurements/codec", title: "Encodings", file: "docs/reference/measurements/codec.md" },
    ],
  },
];

export const PAGES: readonly Page[] = SECTIONS.flatMap(({ pages }) => pages);

/** The first page of the site. */
export const HOME = "docs/README.md";
