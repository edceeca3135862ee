"""The alias pools: names of each tool in eight industries. No training example uses them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bylaw.bench.tools import TOOLS
from bylaw.training.data.alias import Alias

_TABLE: Final[Mapping[str, str]] = {
    "tool_a": """
        devops        verify_checksum(index)
        devops        probe_service(service_id)
        devops        count_restarts(pod_id)
        finance       score_transaction(transaction_id)
        finance       rate_borrower(borrower_id)
        finance       quote_instrument(instrument_id)
        healthcare    triage_patient(patient_id)
        healthcare    read_vital_sign(monitor_id)
        data science  sample_feature(feature_id)
        data science  grade_model(model_id)
        logistics     locate_parcel(parcel_id)
        logistics     inspect_container(container_id)
        IoT           poll_sensor(sensor_id)
        IoT           check_battery(device_id)
        genomics      sequence_marker(marker_id)
        genomics      phase_variant(locus)
        law           look_up_docket(docket_id)
    """,
    "tool_a_list": """
        finance       list_transaction_ids(batch_seed)
        healthcare    enumerate_patients(intake_seed)
        devops        list_failed_jobs(pipeline_seed)
        data science  draw_samples(sampling_seed)
        logistics     list_open_shipments(manifest_seed)
        IoT           enumerate_devices(network_seed)
        genomics      list_reads(flowcell_seed)
        law           list_exhibits(case_seed)
    """,
    "tool_iterations": """
        devops        compute_retry_budget(execution_seed)
        finance       count_settlement_cycles(ledger_seed)
        healthcare    count_dosage_rounds(regimen_seed)
        data science  choose_epoch_count(experiment_seed)
        logistics     plan_delivery_rounds(route_seed)
        IoT           set_polling_cycles(gateway_seed)
        genomics      choose_amplification_cycles(protocol_seed)
        law           count_review_rounds(matter_seed)
    """,
    "tool_b": """
        data science  cross_reference(primary_id, secondary_id)
        data science  join_records(left_id, right_id)
        finance       reconcile_accounts(debit_account, credit_account)
        finance       price_spread(bid_level, ask_level)
        healthcare    correlate_signals(channel_a, channel_b)
        healthcare    match_donor(donor_id, recipient_id)
        devops        compare_builds(baseline_build, candidate_build)
        devops        link_incidents(incident_id, cause_id)
        logistics     estimate_leg(origin_hub, destination_hub)
        logistics     pack_crate(crate_id, slot_id)
        IoT           fuse_readings(reading_a, reading_b)
        IoT           pair_devices(controller_id, peripheral_id)
        genomics      align_sequences(query_sequence, reference_sequence)
        law           compare_clauses(clause_id, precedent_id)
        law           check_conflict(client_id, counterparty_id)
    """,
    "tool_c": """
        data science  transform_value(value)
        data science  scale_feature(raw_feature)
        data science  encode_label(label_code)
        finance       convert_currency(amount)
        finance       accrue_interest(principal)
        healthcare    adjust_dose(dose)
        healthcare    normalize_reading(reading)
        devops        scale_replicas(replica_count)
        devops        bump_version(build_number)
        logistics     price_freight(gross_weight)
        logistics     pad_schedule(transit_hours)
        IoT           calibrate_sensor(raw_signal)
        IoT           debounce_input(pulse_count)
        genomics      amplify_fragment(fragment_size)
        genomics      translate_codon(codon_index)
        law           compute_filing_fee(claim_size)
    """,
    "tool_d": """
        devops        aggregate_metrics(metrics)
        devops        merge_log_counts(log_counts)
        finance       sum_ledger(entries)
        finance       net_positions(positions)
        finance       total_invoice(line_items)
        healthcare    accumulate_readings(readings)
        healthcare    tally_dosages(dosages)
        data science  pool_estimates(estimates)
        data science  reduce_partials(partials)
        logistics     consolidate_shipments(shipment_weights)
        logistics     sum_distances(leg_distances)
        IoT           combine_telemetry(telemetry)
        genomics      merge_coverage(coverage_depths)
        genomics      sum_expression(expression_levels)
        law           total_damages(damages)
    """,
    "tool_expand": """
        devops        explore_dependencies(package_id)
        devops        list_downstream_services(upstream_service)
        devops        walk_commit_parents(commit_id)
        finance       trace_counterparties(entity_id)
        finance       unfold_portfolio(portfolio_id)
        healthcare    trace_contacts(case_id)
        healthcare    list_referrals(physician_id)
        data science  expand_cluster(cluster_id)
        data science  list_child_tables(table_id)
        logistics     list_onward_hubs(hub_id)
        logistics     unpack_pallet(pallet_id)
        IoT           discover_neighbours(gateway_id)
        genomics      list_descendant_clades(clade_id)
        genomics      follow_pathway(gene_id)
        law           follow_citations(opinion_id)
    """,
    "tool_value": """
        data science  get_node_weight(node_id)
        finance       appraise_asset(asset_id)
        finance       fetch_exposure(exposure_id)
        healthcare    get_risk_score(record_id)
        devops        get_service_load(host_id)
        devops        read_latency(endpoint_id)
        logistics     get_hub_capacity(terminal_id)
        IoT           read_signal_strength(beacon_id)
        genomics      get_expression_level(transcript_id)
        law           weigh_precedent(ruling_id)
    """,
}
"""One line per alias: the industry, and the tool's signature there."""


def _rows(tool: str) -> list[tuple[str, Alias]]:
    rows = []
    for line in _TABLE[tool].strip().splitlines():
        industry, _, signature = line.strip().rpartition("  ")
        name, _, arguments = signature.strip(" )").partition("(")
        shown = dict(zip(TOOLS[tool].parameters, arguments.split(", "), strict=True))
        rows.append((industry.strip(), Alias(tool, name, shown)))
    return rows


POOLS: Final = {tool: tuple(alias for _, alias in _rows(tool)) for tool in _TABLE}
"""The aliases of each tool."""
INDUSTRIES: Final = frozenset(industry for tool in _TABLE for industry, _ in _rows(tool))
"""The industries of the aliases."""
