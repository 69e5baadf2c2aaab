"""The one pipeline, in the order of its stages. Everything here is pure: same input, same bytes.

environment   text            -> Environment          frozen and typed; every value knows its line and column
lock          FILE.lock       -> Lock                 what was resolved once: AMI ids, image digests
catalog       bundled data    -> Catalog              hardware, regions, quotas, prices: each row with source and date
software      bundled data    -> images, AMIs, SDKs   and which of them fit together
serving       bundled data    -> engines              which engine serves which model on which chips, degrees, starts
slurm         bundled data    -> Slurm on AWS PCS      versions, controller sizes, CPUs of a node, settings
unlisted_types, brought_network                       what only the file can say: types without an API name, a VPC
selection     Environment     -> Selection            the image of each job and the AMI of each cluster
capacity_plan Environment     -> CapacityPlan         how the nodes of a cluster, a fleet or its GPU group are bought
pinned        Selection + Lock -> AMIs, images         with their ids and digests, where the lock has them
node_image_sources, node_image_plan                   what node images are made of, and the ones to build
fleet_plan    Environment     -> FleetPlan            slices, image, AMI, times that must agree, GPU fallback
zones         bundled data    -> rules of a time zone  from the pinned tzdata package
windows       weekly windows  -> spans, phase          moments of local times; also part of the shift's controller
shift_override text           -> Override             a person's word against a shift's timetable; also part of its controller
shift_plan    Environment     -> ShiftPlan            what fleet and cluster have in and out of windows
slurm_plan    Environment     -> SlurmPlan            node groups, queue, names of a cluster under Slurm
network_interfaces, sizing                            shared arithmetic: interfaces, cores, memory, subnets
compatibility bundled data    -> verdicts             stacks and their lifecycle, hosts, image on driver, degrees, precisions
model_memory  Job             -> MemoryEstimate       weights and training state against the chips' memory
plan          Environment + Lock + Catalog -> Plan    nodes, chips, cores, interfaces, images, names
price_file, price_list                                the user's own prices; which row of AWS's list is meant
prices        Catalog, price files, AWS's list        what one unit costs, and who says so
token_cost    a price and a rate                      dollars for a million tokens
cost          Plan + Prices   -> Cost                 lines with source and date; unknown stays unknown
quotas        Plan + LiveFacts -> states              enough, short by so many vCPUs, or not checked
rules         Environment     -> findings             id, where, given, allowed, fix, source
render, jobs  Plan            -> files and requests   runtime files, job packages, job definitions
capacity_market Environment -> requests, offers        what EC2 sells of capacity, in the order of its worth
rendered_files, rendered_fleets: Plan -> the files that `render` writes
timetable     ShiftPlan       -> Timetable            the switches of one week, a dry run
timeline, fleet_timeline: Plan -> events                what happens when, as offsets
buildable     Plan            -> refusal               what can be planned, and not be built
plan_report, capacity_report, cluster_report, fleet_report, shift_report, slurm_report, cost_report
              Plan + Cost     -> document, text       what `plan` prints
lint          files of one's own -> findings          templates, manifests, job definitions, scripts: the same ids

findings, errors, live, names, reservations, secret_words and shipped_jobs are the words that all stages share.
"""
