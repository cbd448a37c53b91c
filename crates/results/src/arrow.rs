//! The tables as Arrow record batches.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Float64Array, Int32Array, RecordBatch, StringArray, UInt32Array,
    UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};

use crate::groups::{GroupRow, Transfers};
use crate::macroflows::MacroRow;
use crate::tables::{FlowRow, LinkRow, Series, SeriesOf, Tables};

/// A run's tables as record batches, one batch each.
#[derive(Clone, Debug, PartialEq)]
pub struct Batches {
    /// One row per flow.
    pub flows: RecordBatch,
    /// One row per named link.
    pub links: RecordBatch,
    /// One row per group of flows.
    pub groups: RecordBatch,
    /// One row per transfer that came while the run went on, where a group has such.
    pub transfers: Option<RecordBatch>,
    /// One row per macro-flow, where the scenario has islands.
    pub macroflows: Option<RecordBatch>,
    /// Name and table of each series, sorted by name.
    pub series: Vec<(String, RecordBatch)>,
}

impl From<Tables> for Batches {
    fn from(tables: Tables) -> Batches {
        let mut series: Vec<_> =
            tables.series.into_iter().map(|s| (s.name.clone(), series(s))).collect();
        series.sort_by(|a, b| a.0.cmp(&b.0));
        Batches {
            flows: flows(&tables.flows),
            links: links(&tables.links),
            transfers: tables.transfers.map(|rows| transfers(rows, &tables.groups)),
            groups: groups(&tables.groups),
            macroflows: (!tables.macroflows.is_empty()).then(|| macroflows(&tables.macroflows)),
            series,
        }
    }
}

/// A Rust type that a column can hold.
trait Cell: Sized {
    const TYPE: DataType;
    const NULLABLE: bool = false;
    fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef
    where
        Self: 'a;
}

macro_rules! cell {
    ($type:ty, $arrow:ident, $array:ident) => {
        impl Cell for $type {
            const TYPE: DataType = DataType::$arrow;
            fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
                Arc::new($array::from_iter_values(values.cloned()))
            }
        }
    };
}

cell!(Arc<str>, Utf8, StringArray);
cell!(u32, UInt32, UInt32Array);
cell!(u64, UInt64, UInt64Array);
cell!(f64, Float64, Float64Array);
cell!(String, Utf8, StringArray);

impl Cell for Option<f64> {
    const TYPE: DataType = DataType::Float64;
    const NULLABLE: bool = true;
    fn array<'a>(values: impl Iterator<Item = &'a Self>) -> ArrayRef {
        Arc::new(values.copied().collect::<Float64Array>())
    }
}

fn column<'a, T: Cell + 'a>(name: &str, values: impl Iterator<Item = &'a T>) -> (Field, ArrayRef) {
    (Field::new(name, T::TYPE, T::NULLABLE), T::array(values))
}

fn batch(columns: Vec<(Field, ArrayRef)>) -> RecordBatch {
    let (fields, arrays): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
        .expect("each field was made with its array, and all arrays are of one length")
}

macro_rules! table {
    ($function:ident, $row:ident { $($field:ident),* $(,)? }) => {
        fn $function(rows: &[$row]) -> RecordBatch {
            // Without `..`: a field that is not a column does not compile.
            if let [$row { $($field: _),* }, ..] = rows {}
            batch(vec![$(column(stringify!($field), rows.iter().map(|row| &row.$field))),*])
        }
    };
}

table!(
    flows,
    FlowRow {
        flow,
        group,
        protocol,
        base_rtt_s,
        start_s,
        stop_s,
        finish_s,
        fct_s,
        sent_pkts,
        retransmitted_pkts,
        arrived_pkts,
        delivered_pkts,
        delivered_bytes,
        dropped_pkts,
        lost_pkts,
        in_flight_pkts,
        acks_sent_pkts,
        acks_arrived_pkts,
        acks_dropped_pkts,
        acks_lost_pkts,
        acks_in_flight_pkts,
        goodput_bps,
        timeouts,
        fast_retransmits,
        srtt_s,
        min_rtt_s,
    }
);

table!(
    links,
    LinkRow {
        link,
        name,
        queue,
        rate_bps,
        owd_s,
        buffer_bytes,
        arrivals_pkts,
        drops_pkts,
        data_drops_pkts,
        marks_pkts,
        departures_pkts,
        departures_bytes,
        lost_pkts,
        utilization_ratio,
        drop_ratio,
        queue_mean_pkts,
        queue_mean_bytes,
        queue_mean_ratio,
        queue_p90_pkts,
        queue_p90_ratio,
        queue_max_pkts,
        queue_max_bytes,
        total_arrivals_pkts,
        total_drops_pkts,
        total_data_drops_pkts,
        total_marks_pkts,
        total_departures_pkts,
        total_lost_pkts,
        queued_end_pkts,
    }
);

table!(
    groups,
    GroupRow {
        group,
        protocol,
        flows,
        finished,
        sent_pkts,
        retransmitted_pkts,
        arrived_pkts,
        delivered_pkts,
        delivered_bytes,
        dropped_pkts,
        lost_pkts,
        in_flight_pkts,
        acks_sent_pkts,
        acks_arrived_pkts,
        acks_dropped_pkts,
        acks_lost_pkts,
        acks_in_flight_pkts,
        timeouts,
        fast_retransmits,
        goodput_bps,
        fct_mean_s,
        fct_p50_s,
        fct_p95_s,
        fct_p99_s,
        fct_max_s,
    }
);

table!(
    macroflows,
    MacroRow {
        flow,
        island,
        protocol,
        ingress,
        egress,
        base_rtt_s,
        arrivals_pkts,
        queue_drops_pkts,
        queued_end_pkts,
        sent_pkts,
        arrived_pkts,
        delivered_bytes,
        dropped_pkts,
        lost_pkts,
        in_flight_pkts,
        acks_sent_pkts,
        acks_arrived_pkts,
        acks_dropped_pkts,
        acks_lost_pkts,
        acks_in_flight_pkts,
        goodput_bps,
        queue_drop_ratio,
        queue_mean_pkts,
        queue_mean_ratio,
        queue_p90_pkts,
        queue_max_pkts,
        wait_mean_s,
        loss_events,
        timeouts,
        cwnd_pkts,
        srtt_s,
        min_rtt_s,
    }
);

/// The group as text out of a dictionary of all groups: four bytes a row.
fn transfers(rows: Transfers, groups: &[GroupRow]) -> RecordBatch {
    let Transfers { group, start_s, size_bytes, fct_s, retransmitted_pkts } = rows;
    let keys = Int32Array::from_iter_values(group.into_iter().map(|number| number as i32));
    let names = StringArray::from_iter_values(groups.iter().map(|row| &row.group));
    let group = DictionaryArray::<Int32Type>::new(keys, Arc::new(names));
    let text = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let fct_s: Float64Array = fct_s.into_iter().map(|fct| (!fct.is_nan()).then_some(fct)).collect();
    let floats = Float64Array::from(start_s);
    batch(vec![
        (Field::new("group", text, false), Arc::new(group)),
        (Field::new("start_s", DataType::Float64, false), Arc::new(floats)),
        (
            Field::new("size_bytes", DataType::UInt64, false),
            Arc::new(UInt64Array::from(size_bytes)),
        ),
        (Field::new("fct_s", DataType::Float64, true), Arc::new(fct_s)),
        (
            Field::new("retransmitted_pkts", DataType::UInt32, false),
            Arc::new(UInt32Array::from(retransmitted_pkts)),
        ),
    ])
}

fn series(series: Series) -> RecordBatch {
    let id = match series.of {
        SeriesOf::Flow => "flow",
        SeriesOf::Link => "link",
    };
    batch(vec![
        (Field::new("t_s", DataType::Float64, false), Arc::new(Float64Array::from(series.t_s))),
        (Field::new(id, DataType::UInt32, false), Arc::new(UInt32Array::from(series.id))),
        (
            Field::new(series.name, DataType::Float64, false),
            Arc::new(Float64Array::from(series.value)),
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(batch: &RecordBatch) -> Vec<String> {
        batch.schema().fields().iter().map(|f| f.name().clone()).collect()
    }

    #[test]
    fn a_groups_columns_are_the_fields_in_their_order() {
        let rows = [GroupRow { fct_p99_s: Some(0.5), ..GroupRow::default() }];
        let table = groups(&rows);
        let json = serde_json::to_string(&rows[0]).unwrap();
        let mut from = 0;
        for name in names(&table) {
            from += json[from..].find(&format!("\"{name}\":")).expect("in the order of the struct");
        }
        assert_eq!(table.num_columns(), json.matches("\":").count());
    }

    #[test]
    fn the_columns_are_the_fields_in_their_order() {
        let rows = [FlowRow { flow: 3, fct_s: Some(0.5), ..FlowRow::default() }];
        let table = flows(&rows);
        let json = serde_json::to_string(&rows[0]).unwrap();
        let mut from = 0;
        for name in names(&table) {
            from += json[from..].find(&format!("\"{name}\":")).expect("in the order of the struct");
        }
        assert_eq!((table.num_rows(), table.num_columns()), (1, json.matches("\":").count()));
        let schema = table.schema();
        let nullable: Vec<_> = schema.fields().iter().filter(|f| f.is_nullable()).collect();
        assert_eq!(nullable.len(), 5); // stop, finish, fct, srtt, min_rtt
    }

    #[test]
    fn a_series_names_its_value_and_its_owner() {
        let series = |name: &str, of| Series {
            name: name.to_owned(),
            of,
            t_s: vec![0.0, 0.1],
            id: vec![0, 0],
            value: vec![1.0, 2.0],
        };
        let batches = Batches::from(Tables {
            series: vec![series("queue_pkts", SeriesOf::Link), series("cwnd_pkts", SeriesOf::Flow)],
            ..Tables::default()
        });
        assert_eq!(batches.series[0].0, "cwnd_pkts");
        assert_eq!(names(&batches.series[0].1), ["t_s", "flow", "cwnd_pkts"]);
        assert_eq!(names(&batches.series[1].1), ["t_s", "link", "queue_pkts"]);
        assert_eq!(batches.flows.num_rows(), 0);
    }
}
